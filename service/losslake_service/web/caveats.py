"""The caveats of an answer on a page: texts that differ only in a batch size are shown as one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

# A single batch size, not the first of a list.
_BATCH_SIZE = re.compile(r"\bbatch size (\d+)\b(?!,| and \d)")


def caveats(facts: Mapping[str, Any]) -> list[str]:
    """Return the distinct texts of left_out and warnings. facts: of an answer, which may have neither."""
    return by_reason([*facts.get("left_out", ()), *facts.get("warnings", ())])


def by_reason(texts: Sequence[str]) -> list[str]:
    """Return the distinct texts; those that differ in a batch size alone as one, with the number and range of these."""
    groups: dict[tuple[str, ...], dict[str, int]] = {}
    for text in texts:
        match = _BATCH_SIZE.search(text)
        reason = (text,) if match is None else (text[: match.start()], text[match.end() :])
        groups.setdefault(reason, {})[text] = 0 if match is None else int(match[1])
    return [_in_one(reason, sizes) for reason, sizes in groups.items()]


def _in_one(reason: Sequence[str], sizes: Mapping[str, int]) -> str:
    if len(sizes) == 1:
        return next(iter(sizes))
    return f"{len(sizes)} batch sizes from {min(sizes.values()):,} to {max(sizes.values()):,}".join(reason)
