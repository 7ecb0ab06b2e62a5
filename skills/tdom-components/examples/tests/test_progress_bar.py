from rendering import ESCAPED, HOSTILE, render

from progress_bar import ProgressBar


def test_a_third_is_thirty_three_percent() -> None:
    assert render(t"<{ProgressBar} label='Upload' done={1} total={3} />") == (
        '<div class="progress" role="progressbar" aria-label="Upload"'
        ' aria-valuemin="0" aria-valuemax="100" aria-valuenow="33">'
        '<div class="progress-bar" style="width: 33%">33 %</div></div>'
    )


def test_nothing_to_do_is_no_division_by_zero_and_hostile_labels_are_escaped() -> None:
    assert render(t"<{ProgressBar} label={HOSTILE} done={0} total={0} />") == (
        f'<div class="progress" role="progressbar" aria-label="{ESCAPED}"'
        ' aria-valuemin="0" aria-valuemax="100" aria-valuenow="0">'
        '<div class="progress-bar" style="width: 0%">0 %</div></div>'
    )
