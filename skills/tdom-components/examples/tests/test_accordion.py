from rendering import ESCAPED, HOSTILE, render

from accordion import Accordion


def test_the_chosen_entry_is_open() -> None:
    entries = {"Why?": t"<p>Because.</p>", "When?": t"<p>Now.</p>"}
    assert render(t"<{Accordion} entries={entries} name='faq' opened='When?' />") == (
        '<div class="accordion">'
        '<details name="faq"><summary>Why?</summary><p>Because.</p></details>'
        '<details name="faq" open><summary>When?</summary><p>Now.</p></details></div>'
    )


def test_hostile_questions_and_answers_are_escaped() -> None:
    entries = {HOSTILE: t"<p>{HOSTILE}</p>"}
    assert render(t"<{Accordion} entries={entries} name={HOSTILE} />") == (
        f'<div class="accordion"><details name="{ESCAPED}">'
        f"<summary>{ESCAPED}</summary><p>{ESCAPED}</p></details></div>"
    )
