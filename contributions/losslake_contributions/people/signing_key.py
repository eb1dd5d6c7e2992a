"""The key that signs links: a file that only the account of the service reads, outside of the database.

Whoever reads the database can't make links, then. The file is read for each link, so a new key counts at once in every
process, and ends all links that an earlier one has signed.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from losslake.lake.lake import Lake
from losslake_contributions.store.private_files import SIGNING_KEY, replace_private, write_private
from losslake_schema.errors import LossLakeError

VARIABLE = "LOSSLAKE_CONTRIBUTIONS_SIGNING_KEY_FILE"
_KEY_BYTES = 32


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
