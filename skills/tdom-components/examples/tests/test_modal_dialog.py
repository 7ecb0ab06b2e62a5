from rendering import ESCAPED, HOSTILE, render

from modal_dialog import ModalDialog


def test_an_open_dialog_is_named_by_its_title() -> None:
    dialog = t"<{ModalDialog} dialog_id='ask' title='Sure?' is_open>No.</{ModalDialog}>"
    assert render(dialog) == (
        '<dialog id="ask" open aria-labelledby="ask-title"><header>'
        '<h2 id="ask-title">Sure?</h2>'
        '<form method="dialog"><button>Close</button></form></header>'
        '<div class="dialog-body">No.</div></dialog>'
    )


def test_hostile_titles_and_ids_are_escaped() -> None:
    dialog = (
        t"<{ModalDialog} dialog_id={HOSTILE} title={HOSTILE}>{HOSTILE}</{ModalDialog}>"
    )
    assert render(dialog) == (
        f'<dialog id="{ESCAPED}" aria-labelledby="{ESCAPED}-title"><header>'
        f'<h2 id="{ESCAPED}-title">{ESCAPED}</h2>'
        '<form method="dialog"><button>Close</button></form></header>'
        f'<div class="dialog-body">{ESCAPED}</div></dialog>'
    )
