"""Delivery by e-mail, through the SMTP server that the host has set."""

from __future__ import annotations

import logging
import smtplib
import ssl
from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from pathlib import Path

from losslake_contributions.notifications.webhook import DeliveryFailed
from losslake_contributions.settings import Settings
from losslake_contributions.store.tables import Delivery
from losslake_schema.errors import LossLakeError
from losslake_service.settings import is_loopback

_SECONDS = 10.0
# Longer header lines than that of RFC 5322 are encoded, which no mail program reads as a link.
_POLICY = SMTP.clone(max_line_length=998)
_ADVICE = "e-mails wait; check smtp_host, smtp_port, smtp_security, smtp_user, smtp_password_file and email_from"
_log = logging.getLogger(__name__)


def check_email_settings(settings: Settings) -> None:
    """Raise LossLakeError if e-mails are to be sent and can't be with these settings."""
    if not settings.smtp_host:
        return
    if not settings.email_from:
        raise LossLakeError("smtp_host is set without email_from: set it to the sender of e-mails")
    if settings.smtp_security == "none" and not is_loopback(settings.smtp_host):
        raise LossLakeError("smtp_security is none, and other machines could read e-mails: set it to starttls or tls")
    if bool(settings.smtp_user) != bool(settings.smtp_password_file):
        raise LossLakeError("smtp_user and smtp_password_file are only useful together: set both, or none of them")
    if settings.smtp_password_file:
        _password(settings)


def _password(settings: Settings) -> str:
    file = settings.smtp_password_file
    try:
        return Path(file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it isn't UTF-8"
        raise LossLakeError(f"smtp_password_file: {file} can't be read: {why}") from None


@dataclass
class Mailer:
    """The SMTP server of the settings. has_failed: since the last e-mail that it took, so that it is logged once."""

    settings: Settings
    has_failed: bool = False

    def compose(self, delivery: Delivery, address: str, title: str, text: str, link: str) -> EmailMessage:
        """Return an e-mail of plain text. link: to the page by which its receiver stops the e-mails."""
        sender = Address(addr_spec=self.settings.email_from, display_name="LossLake")
        message = EmailMessage(policy=_POLICY)
        message["From"], message["To"] = sender, Address(addr_spec=address)
        message["Subject"] = title
        message["Date"] = format_datetime(delivery.created_at)
        # The same at each try, so that mail programs recognize one that arrives twice.
        message["Message-ID"] = f"<{delivery.id}@{sender.domain}>"
        message["Auto-Submitted"] = "auto-generated"
        message["List-Unsubscribe"] = f"<{link}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        message.set_content(text)
        return message

    def send(self, message: EmailMessage, address: str) -> None:
        """Hand an e-mail to the server. Raises DeliveryFailed; what the host has to do is in the log."""
        try:
            with self._connect() as server:
                server.send_message(message, self.settings.email_from, [address])
        except smtplib.SMTPRecipientsRefused as refusal:
            codes = [code for code, _ in refusal.recipients.values()]
            is_final = all(code >= 500 for code in codes)
            raise DeliveryFailed("the mail server doesn't take e-mails to this address", is_final) from None
        except (OSError, smtplib.SMTPException, LossLakeError) as error:
            self._explain(error)
            raise DeliveryFailed("the service can't send e-mails now: its operator has to correct that") from None
        self.has_failed = False

    def _connect(self) -> smtplib.SMTP:
        settings = self.settings
        place = settings.smtp_host, settings.smtp_port
        name = settings.email_from.rpartition("@")[2]  # instead of that of this machine
        if settings.smtp_security == "tls":
            context = ssl.create_default_context()
            server: smtplib.SMTP = smtplib.SMTP_SSL(*place, name, timeout=_SECONDS, context=context)
        else:
            server = smtplib.SMTP(*place, name, timeout=_SECONDS)
        try:
            if settings.smtp_security == "starttls":
                server.starttls(context=ssl.create_default_context())
            if settings.smtp_user:
                server.login(settings.smtp_user, _password(settings))
        except BaseException:
            server.close()
            raise
        return server

    def _explain(self, error: Exception) -> None:
        """Log an error once, without what a server says: it may name the receiver."""
        if isinstance(error, smtplib.SMTPResponseException):
            reason = f"{type(error).__name__}, code {error.smtp_code}"
        elif isinstance(error, smtplib.SMTPException):
            reason = type(error).__name__
        else:
            reason = str(error)
        if not self.has_failed:
            place = f"{self.settings.smtp_host}:{self.settings.smtp_port}"
            _log.error("no e-mail can be sent by %s (%s): %s", place, reason, _ADVICE)
        self.has_failed = True
