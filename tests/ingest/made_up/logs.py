"""Made-up logs: random series with odd values; each format has a writer and an independent reader."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from tests.ingest.offers import Files

# The rows of a run as its training loop logs them: a step, and the values of some metrics.
Rows = Sequence[tuple[int, Mapping[str, float]]]
# By run: its metaparameters, and by metric and step the value as text, in which NaN equals NaN and -0.0 isn't 0.0.
Values = dict[str, dict[int, str]]
Content = dict[str, tuple[Mapping[str, object], Values]]

METRICS = ("m0", "m1", "m2", "m3")
RUN = """
collection.name = "c"
run = { dataset = "d", model = "m", optimizer = "o", batch_size = 10 }
"""
# The steps of made-up metrics end anywhere, so the axis has to be stated.
METRIC_LINES = '[[axis]]\ncolumn = "step"\ncounts = "steps"\n[metrics]\n"m*" = "val/m*"\n'
ODD = (0.0, -0.0, 5e-324, -5e-324, 1.7976931348623155e308, -1e308, 1e-300, 0.1 + 0.2, 2.0**53, -(2.0**60), 1 / 3)
NOT_FINITE = (math.nan, math.inf, -math.inf)


class Unusual(ValueError):
    """An independent reader refuses a log: it isn't as its writer would have written it."""


@dataclass(frozen=True)
class MadeUp:
    """A format with logs of random series.

    write: files of these runs. read: what the files say, in plain Python; raises Unusual or any ValueError unless every
    byte is as the format has it. spoiled: a file with a bad cell in each of its columns, one at a time. logs: the path
    endings of the files that can be damaged.
    """

    name: str
    mapping: str
    write: Callable[[Sequence[Rows]], Files]
    read: Callable[[Files], Content]
    spoiled: Callable[[bytes], Iterable[bytes]]
    logs: tuple[str, ...]
    restarts: bool = True
    encodings: tuple[str, ...] = ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "cp037")


def number(chance: Random) -> float:
    """Return a random value, often an odd one."""
    kind = chance.randrange(6)
    if kind == 0:
        return chance.choice(ODD)
    if kind == 1:
        return chance.choice(NOT_FINITE)
    if kind == 2:
        return chance.choice((-1, 1)) * 10 ** chance.uniform(-307, 307)
    return chance.uniform(-3, 3)


def rows(chance: Random, restarts: bool = True) -> Rows:
    """Return the rows of a run: cells are missing, and a restart may write steps again.

    The last row before a restart and the first one after it have every metric, so that each goes back.
    """
    made: list[tuple[int, Mapping[str, float]]] = []
    first, is_last = chance.randrange(3), False
    step = first
    for _ in range(chance.randrange(3, 12)):
        is_first, is_last = is_last, restarts and chance.random() < 0.1
        logged = {name: number(chance) for name in METRICS if is_first or is_last or chance.random() < 0.8}
        made.append((step, logged or {METRICS[0]: 0.5}))
        can_restart = is_last and step > first + 1
        step = chance.randrange(first + 1, step) if can_restart else step + chance.randrange(1, 100)
    missing = set(METRICS).difference(*(logged for _, logged in made))
    made.append((max(step for step, _ in made) + 1000, {**made[-1][1], **dict.fromkeys(missing, -1.5)}))
    return made


def runs(made_up: MadeUp, seed: int, count: int) -> list[Rows]:
    """Return the rows of random runs, each with four series."""
    chance = Random(f"{made_up.name} {seed}")
    return [rows(chance, made_up.restarts) for _ in range(count)]


def curves(points: Iterable[tuple[str, int, float]]) -> Values:
    """Return the last value of each metric and step, of points (column, step, value) in the order written."""
    found: dict[str, dict[int, str]] = {}
    for column, step, value in points:
        if column.startswith("m"):
            found.setdefault(f"val/{column}", {})[step] = repr(float(value))
    if not found:
        raise Unusual("no measurement")
    return {metric: dict(sorted(values.items())) for metric, values in sorted(found.items())}


def whole(text: str) -> int:
    """Return a step written as a number."""
    value = float(text)
    if not value.is_integer() or not 0 <= value < 2**63:
        raise Unusual(text)
    return int(value)
