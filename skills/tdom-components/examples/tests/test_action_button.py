from rendering import ESCAPED, HOSTILE, render

from action_button import ActionButton


def test_a_primary_button_can_submit() -> None:
    button = t"<{ActionButton} look='primary' submits>Save</{ActionButton}>"
    assert render(button) == (
        '<button type="submit" class="button button-primary">Save</button>'
    )


def test_unknown_attributes_reach_the_element_escaped() -> None:
    button = t"<{ActionButton} disabled title={HOSTILE}>{HOSTILE}</{ActionButton}>"
    assert render(button) == (
        f'<button type="button" class="button" disabled title="{ESCAPED}">'
        f"{ESCAPED}</button>"
    )
