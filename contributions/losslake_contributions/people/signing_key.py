"""The key that signs links, and the tokens that it makes: the id of a link's record, with an HMAC of it.

The key is a file that only the account of the service reads, outside of the database: whoever reads the database can't
make links, and the same link can be shown again without its secret being stored. The file is read for each link, so a
new key counts at once in every process, and ends all links that an earlier one has signed.
"""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from uuid import UUID

from losslake.lake.lake import Lake
from losslake_contributions.store.private_files import SIGNING_KEY, replace_private, write_private
from losslake_schema.errors import LossLakeError

VARIABLE = "LOSSLAKE_CONTRIBUTIONS_SIGNING_KEY_FILE"
TOKEN_LENGTH = 56  # of the id and the code below, in base64
_KEY_BYTES, _ID_BYTES, _CODE_BYTES = 32, 16, 26
Kind = Literal["draft", "live", "email"]
_MARKS: dict[Kind, bytes] = {"draft": b"losslake draft", "live": b"losslake live", "email": b"losslake email"}
_WEBHOOK_MARK = b"losslake webhook"


@dataclass(frozen=True)
class SigningKey:
    """The key in a file."""

    file: Path

    @staticmethod
    def of(lake: Lake, file: str = "") -> SigningKey:
        """Return the key of a lake's contribution service, and make it if there is none yet.

        file: as for `at`. Raises LossLakeError as that, and for a file that can't be read or written.
        """
        key = SigningKey.at(lake, file)
        if not key.file.exists():
            with suppress(FileExistsError), _explained(key.file):
                write_private(key.file, _new_key())
        key.read()
        return key

    @staticmethod
    def at(lake: Lake, file: str = "") -> SigningKey:
        """Return the key of a lake's contribution service, whether it is there or not.

        file: that has it; empty for that in the folder of the lake. Raises LossLakeError for a lake at two URLs without
        it, since other machines don't share the folder.
        """
        if not file and not lake.location.is_folder:
            how = f"set {VARIABLE} to a file that all processes of the service share, and nobody else reads"
            raise LossLakeError(f"there is no place for the key that signs links: {how}")
        return SigningKey(Path(file).expanduser().absolute() if file else lake.folder / SIGNING_KEY)

    def read(self) -> bytes:
        """Return the key; raise LossLakeError if it can't be read."""
        with _explained(self.file):
            key = self.file.read_bytes().strip()
        if len(key) < _KEY_BYTES:
            raise LossLakeError(
                f"{self.file} has less than {_KEY_BYTES} bytes: make a key with 'losslake tokens rotate-key'"
            )
        return key

    def replace(self) -> None:
        """Put a new key into the file; raise LossLakeError if it can't be written."""
        with _explained(self.file):
            replace_private(self.file, _new_key())


def _new_key() -> bytes:
    return f"{secrets.token_hex(_KEY_BYTES)}\n".encode()


@contextmanager
def _explained(file: Path) -> Iterator[None]:
    """Turn an error of the file system into one line about the key; that a file exists isn't one."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        why = error.strerror or str(error)
        raise LossLakeError(f"the key that signs links, {file}, can't be read or written: {why}") from None


def link_token(kind: Kind, key: bytes, link: UUID) -> str:
    """Return the token of a link. link: the id of its record."""
    return base64.urlsafe_b64encode(link.bytes + _code(kind, key, link.bytes)).decode()


def read_token(kind: Kind, key: bytes, token: str) -> UUID | None:
    """Return the id of the link's record; None if the token is forged, signed by another key or of another kind."""
    if len(token) != TOKEN_LENGTH:
        return None
    try:
        data = base64.b64decode(token, altchars=b"-_", validate=True)
    except ValueError:
        return None
    record, code = data[:_ID_BYTES], data[_ID_BYTES:]
    return UUID(bytes=record) if hmac.compare_digest(code, _code(kind, key, record)) else None


def webhook_secret(key: bytes, channel: UUID) -> str:
    """Return the secret with which deliveries to a webhook are signed. channel: the id of its record."""
    return f"llw_{hmac.digest(key, _WEBHOOK_MARK + channel.bytes, 'sha256').hex()}"


def _code(kind: Kind, key: bytes, record: bytes) -> bytes:
    return hmac.digest(key, _MARKS[kind] + record, "sha256")[:_CODE_BYTES]
