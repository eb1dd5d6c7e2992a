"""Text of logs in UTF-8, whatever program wrote it."""

from __future__ import annotations

from collections.abc import Iterator

from losslake_ingest.contracts.rules import Refusal, Rule

LONGEST_LINE = 1 << 22  # of JSON, which as objects needs up to 30 times that
UTF8_MARK = b"\xef\xbb\xbf"
_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


def in_utf8(data: bytes) -> bytes:
    """Return a text in UTF-8 without a byte order mark, by which one in UTF-16 is recognized."""
    coding = _MARKS.get(data[:2])
    text = data if coding is None else data[2:].decode(coding, "replace").encode()
    return text.removeprefix(UTF8_MARK)


def check_nuls(data: bytes) -> None:
    """Raise Refusal for a text that begins with NUL bytes, as a file does after a crash of its machine."""
    if not data.startswith(b"\0"):
        return
    count = len(data) - len(data.lstrip(b"\0"))
    message = f"it begins with {count:,} NUL bytes, as after a crash: cut them off (tr -d '\\0' < FILE > NEW_FILE)"
    raise Refusal(Rule.UNREADABLE_LOG, message, 1)


def line_blocks(data: bytes, size: int, expected: str) -> Iterator[tuple[int, bytes]]:
    """Yield blocks of whole lines, each with the number of its first line: a file can hold a hundred million lines.

    Raises Refusal for a line that is too long. expected: what would explain it if it is missing.
    """
    start, number = 0, 1
    while start < len(data):
        end = data.rfind(b"\n", start, start + size) + 1 or data.find(b"\n", start) + 1 or len(data)
        if end - start > LONGEST_LINE:
            message = f"the line is longer than {LONGEST_LINE:,} bytes: is there {expected}?"
            raise Refusal(Rule.UNREADABLE_LOG, message, number)
        block = data[start:end]
        yield number, block
        start, number = end, number + block.count(b"\n")
