"""Make a contact form with name, e-mail and message that keeps input after an error."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from string.templatelib import Template

from select_field import SelectField
from text_field import TextField

TOPICS = {"": "Please choose", "order": "My order", "other": "Something else"}


@dataclass(frozen=True, kw_only=True)
class ContactForm:
    """Values and errors are both by field name."""

    action: str
    values: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)

    def __call__(self) -> Template:
        topic = self.values.get("topic", "")
        return t"""
            <form action={self.action} method="post" novalidate>
                {self.text_field("name", "Name")}
                {self.text_field("email", "E-mail")}
                <{SelectField} name="topic" label="Topic" choices={TOPICS}
                    selected={topic} />
                <textarea name="message">{self.values.get("message", "")}</textarea>
                <button>Send</button>
            </form>
        """

    def text_field(self, name: str, label: str) -> Template:
        value, error = self.values.get(name, ""), self.errors.get(name)
        return t"<{TextField} name={name} label={label} value={value} error={error} />"
