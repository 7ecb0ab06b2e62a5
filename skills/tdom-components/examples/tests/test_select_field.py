from rendering import ESCAPED, HOSTILE, render

from select_field import SelectField


def test_the_current_choice_is_selected() -> None:
    choices = {"at": "Austria", "ch": "Switzerland"}
    field = (
        t"<{SelectField} name='land' label='Land' choices={choices} selected='ch' />"
    )
    assert render(field) == (
        '<div class="field"><label for="land">Land</label>'
        '<select id="land" name="land"><option value="at">Austria</option>'
        '<option value="ch" selected>Switzerland</option></select></div>'
    )


def test_hostile_choices_are_escaped() -> None:
    field = (
        t"<{SelectField} name='q' label={HOSTILE} choices={ ({HOSTILE: HOSTILE}) } />"
    )
    assert render(field) == (
        f'<div class="field"><label for="q">{ESCAPED}</label><select id="q" name="q">'
        f'<option value="{ESCAPED}">{ESCAPED}</option></select></div>'
    )
