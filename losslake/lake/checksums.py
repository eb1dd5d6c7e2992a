"""The sha256 of files, and the text of SHA256SUMS."""

from __future__ import annotations

import hashlib
from pathlib import Path


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksum_lines(sums: dict[str, str]) -> str:
    """Return the text of SHA256SUMS, in the format of sha256sum, from the sha256 of each path."""
    return "".join(f"{sha256}  {path}\n" for path, sha256 in sorted(sums.items()))
