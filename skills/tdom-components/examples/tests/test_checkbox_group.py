from rendering import ESCAPED, HOSTILE, render

from checkbox_group import CheckboxGroup


def test_chosen_boxes_are_checked() -> None:
    choices = {"s": "Small", "l": "Large"}
    group = t"""
        <{CheckboxGroup} name="size" legend="Sizes" choices={choices} checked={["l"]} />
    """
    assert render(group) == (
        "<fieldset><legend>Sizes</legend>"
        '<label><input type="checkbox" name="size" value="s" /><span>Small</span></label>'
        '<label><input type="checkbox" name="size" value="l" checked />'
        "<span>Large</span></label></fieldset>"
    )


def test_hostile_choices_and_legends_are_escaped() -> None:
    choices = {HOSTILE: HOSTILE}
    group = t"<{CheckboxGroup} name='q' legend={HOSTILE} choices={choices} />"
    assert render(group) == (
        f"<fieldset><legend>{ESCAPED}</legend>"
        f'<label><input type="checkbox" name="q" value="{ESCAPED}" />'
        f"<span>{ESCAPED}</span></label></fieldset>"
    )
