import asyncio
from email.message import EmailMessage

import pytest
import svcs

from mail_service import MailService, MailTransport, register


class Outbox:
    """A transport that keeps what it is given."""

    def __init__(self) -> None:
        self.messages: list[EmailMessage] = []

    async def deliver(self, message: EmailMessage) -> None:
        self.messages.append(message)


def test_a_message_reaches_the_transport() -> None:
    outbox = Outbox()
    registry = svcs.Registry()
    registry.register_value(MailTransport, outbox)
    register(registry)

    async def send() -> None:
        async with svcs.Container(registry) as container:
            mail = await container.aget(MailService)
            await mail.send(receiver="ada@example.com", subject="Hi", text="Tea?")

    asyncio.run(send())
    [message] = outbox.messages
    assert message["From"] == "shop@example.com"
    assert message["To"] == "ada@example.com"
    assert message["Subject"] == "Hi"
    assert message.get_content() == "Tea?\n"


def test_a_subject_cannot_smuggle_in_another_header() -> None:
    mail = MailService(transport=Outbox(), sender="shop@example.com")
    smuggled = "Hi\nBcc: eve@example.com"
    with pytest.raises(ValueError, match="linefeed"):
        asyncio.run(mail.send(receiver="a@example.com", subject=smuggled, text=""))
