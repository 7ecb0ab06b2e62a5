"""Send e-mails without waiting for the server, through a transport that can be replaced."""

from dataclasses import dataclass
from email.message import EmailMessage
from typing import Protocol

import svcs


class MailTransport(Protocol):
    """Whatever takes a message to its receivers."""

    async def deliver(self, message: EmailMessage) -> None: ...


@dataclass(frozen=True, kw_only=True)
class MailService:
    """Writes messages and hands them to the transport."""

    transport: MailTransport
    sender: str

    async def send(self, *, receiver: str, subject: str, text: str) -> None:
        message = EmailMessage()
        message["From"] = self.sender
        message["To"] = receiver
        message["Subject"] = subject
        message.set_content(text)
        await self.transport.deliver(message)


async def create_mail(svcs_container: svcs.Container) -> MailService:
    transport = await svcs_container.aget(MailTransport)
    return MailService(transport=transport, sender="shop@example.com")


def register(registry: svcs.Registry) -> None:
    registry.register_factory(MailService, create_mail)
