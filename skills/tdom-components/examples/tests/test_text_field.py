from rendering import ESCAPED, HOSTILE, render

from text_field import TextField


def test_a_field_is_tied_to_its_label() -> None:
    assert render(
        t"<{TextField} name='city' label='City' value='Graz' required />"
    ) == (
        '<div class="field"><label for="city">City</label>'
        '<input id="city" name="city" type="text" value="Graz" required /></div>'
    )


def test_hostile_values_and_errors_are_escaped() -> None:
    field = t"<{TextField} name='q' label={HOSTILE} value={HOSTILE} error={HOSTILE} />"
    assert render(field) == (
        f'<div class="field"><label for="q">{ESCAPED}</label>'
        f'<input id="q" name="q" type="text" value="{ESCAPED}"'
        ' aria-invalid="true" aria-describedby="q-error" />'
        f'<p class="field-error" id="q-error">{ESCAPED}</p></div>'
    )
