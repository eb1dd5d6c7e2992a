"""The starts of the runs in a text log with several: a banner before each, or the line of the first step."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from os.path import commonprefix

from losslake_ingest.readers.text_logs.kinds import Kind
from losslake_ingest.readers.text_logs.named_numbers import literal

_LEAST_SHARED = 3  # characters that banners begin with
_MOST_BANNERS = 20  # lines before a run that are looked at
_MOST_RUNS = 200


def proposed_starts(lines: Sequence[str], kinds: Sequence[Kind]) -> str | None:
    """Return an expression for the first line of each run, None if the steps don't begin again, or nothing fits.

    kinds: of lines with values or steps.
    """
    for kind in kinds:
        steps = [[each.text for each in numbers if each.name in kind.steps] for numbers in kind.numbers]
        if not kind.steps:
            continue
        firsts = [at for at, step in enumerate(steps) if step == steps[0]]  # a step of the epoch begins again alone
        if len(firsts) < 2 or any(after - before < 2 for before, after in pairwise(firsts)):
            continue
        rows = sorted(at for each in kinds for at in each.lines)
        banner = _banner(lines, rows, [kind.lines[at] for at in firsts])
        return banner or kind.up_to(next(each for each in kind.numbers[0] if each.name in kind.steps))
    return None


def _banner(lines: Sequence[str], rows: Sequence[int], starts: Sequence[int]) -> str | None:
    """Return an expression for lines that begin alike, each before the first row of a run, and nowhere else.

    rows: the places of lines with values or steps. starts: those of the first row of each run.
    """
    last = {after: before for before, after in zip([-1, *rows], rows, strict=False)}
    between = [lines[last[start] + 1 : start] for start in starts[:_MOST_RUNS]]
    for candidate in between[0][-_MOST_BANNERS:]:
        shared = candidate
        for stretch in between[1:]:
            alike = [commonprefix([shared, line]) for line in stretch[-_MOST_BANNERS:]]  # noqa: RUF071 - of characters
            shared = max(alike, key=len, default="")
        shared = shared.rstrip("0123456789.")
        if len(shared.strip()) >= _LEAST_SHARED and sum(line.startswith(shared) for line in lines) == len(starts):
            return f"^{literal(shared)}"
    return None
