from rendering import ESCAPED, HOSTILE, render

from contact_form import ContactForm


def test_values_survive_an_error() -> None:
    values = {"name": "Ada", "topic": "order"}
    errors = {"email": "Please fill in."}
    form = t"<{ContactForm} action='/contact' values={values} errors={errors} />"
    assert render(form) == (
        '<form action="/contact" method="post" novalidate>'
        '<div class="field"><label for="name">Name</label>'
        '<input id="name" name="name" type="text" value="Ada" /></div>'
        '<div class="field"><label for="email">E-mail</label>'
        '<input id="email" name="email" type="text" value=""'
        ' aria-invalid="true" aria-describedby="email-error" />'
        '<p class="field-error" id="email-error">Please fill in.</p></div>'
        '<div class="field"><label for="topic">Topic</label>'
        '<select id="topic" name="topic"><option value="">Please choose</option>'
        '<option value="order" selected>My order</option>'
        '<option value="other">Something else</option></select></div>'
        '<textarea name="message"></textarea><button>Send</button></form>'
    )


def test_a_hostile_message_cannot_leave_its_text_area() -> None:
    values = {"message": "</textarea>" + HOSTILE, "name": HOSTILE}
    page = render(t"<{ContactForm} action='/contact' values={values} />")
    assert f'<textarea name="message">&lt;/textarea&gt;{ESCAPED}</textarea>' in page
    assert f'<input id="name" name="name" type="text" value="{ESCAPED}" />' in page
    assert HOSTILE not in page
