"""Make a modal dialog with a title, a body and a close button."""

from dataclasses import dataclass
from string.templatelib import Template


@dataclass(frozen=True, kw_only=True)
class ModalDialog:
    """A `dialog` element, named by its title; the form closes it without a script."""

    dialog_id: str
    title: str
    children: Template
    is_open: bool = False

    def __call__(self) -> Template:
        title_id = f"{self.dialog_id}-title"
        return t"""
            <dialog id={self.dialog_id} open={self.is_open} aria-labelledby={title_id}>
                <header>
                    <h2 id={title_id}>{self.title}</h2>
                    <form method="dialog"><button>Close</button></form>
                </header>
                <div class="dialog-body">{self.children}</div>
            </dialog>
        """
