"""Lines of several ranks in one log, as torchrun (`[rank0]:`) and srun (`0:`) write them: only one rank is a run."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_ingest.mapping.expressions import TextLines, find_groups
from losslake_ingest.readers.text_logs.named_numbers import literal

_RANK = re.compile(r"\[?(?:rank[ :=]?)?(?P<rank>[0-9]{1,4})(?:\]|:) ?:?", re.IGNORECASE)
_SAMPLE = 1 << 16
_LEAST = 2  # lines of the first rank, and of others


def first_rank(lines: Sequence[str]) -> str:
    """Return what the lines of the first rank begin with, where lines of several ranks do; else nothing.

    A number alone is a rank if all lines begin with one.
    """
    prefixes_of: dict[str, list[str]] = {}
    for line in lines:
        match = _RANK.match(line)
        if match is not None:
            prefixes_of.setdefault(match["rank"], []).append(match[0].rstrip(" "))
    firsts, n_lines = prefixes_of.get("0", []), sum(map(len, prefixes_of.values()))
    is_stated = all("rank" in prefix.lower() for prefixes in prefixes_of.values() for prefix in prefixes)
    is_every = n_lines == sum(map(bool, lines)) and all(len(prefixes) > 1 for prefixes in prefixes_of.values())
    is_rank = min(len(firsts), n_lines - len(firsts)) >= _LEAST and (is_stated or is_every)
    return firsts[0] if is_rank and len(set(firsts)) == 1 else ""


def of_rank(rank: str, expression: str) -> str:
    """Return an expression for lines that begin with a rank, from one for what follows it."""
    if not rank:
        return expression
    return f"^{literal(rank)}" + (expression[1:] if expression.startswith("^") else f".*?{expression}")


def check_ranks(data: bytes, text: TextLines) -> None:
    """Raise Refusal if an expression matches lines of several ranks. A group `rank` tells them apart."""
    sample = data[:_SAMPLE].decode("utf-8", "replace").splitlines()[:-1]
    rank = first_rank(sample)
    if not rank:
        return
    others = [at for at, line in enumerate(sample, 1) if _RANK.match(line) and not line.startswith(rank)]
    lines = pa.array([sample[at - 1].encode() for at in others], pa.binary())
    for expression in text.lines:
        groups = find_groups(lines, expression)
        if "(?P<rank>" not in expression and pc.any(groups.is_valid()).as_py():
            what = f"{expression!r} matches lines of several ranks, whose values at one step differ"
            advice = f"let it begin with ^{literal(rank)}.*? under [text], for those of the first rank"
            raise Refusal(Rule.VALUES_DISAGREE, f"{what}: {advice}", others[groups.is_valid().index(True).as_py()])
