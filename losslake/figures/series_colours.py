"""The colour and the shape of a series belong to what it shows, so SGD looks the same in every chart and order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from zlib import crc32

from losslake.figures import theme
from losslake_schema.package_files import read_toml

_N_LOOKS = len(theme.COLOURS) * len(theme.SHAPES)
# Series of numbers are in order, and keep the order of the palette.
_PARTS = re.compile("/|, ")
_NUMBERED = re.compile(r"(^|, )(trial|batch size) \d+")


def look_numbers(labels: Sequence[str]) -> list[int]:
    """Return the number of each label's look: of its colour modulo the colours, of its shape modulo the shapes.

    A label that names an optimizer, such as mlp_64/sgd or "mlp_64, SGD", has the number of the optimizer; others have
    one by their letters. If labels of a chart have the same colour, the later ones by name take the next free colour.
    """
    if any(map(_NUMBERED.search, labels)) or not any(labels):
        return list(range(len(labels)))
    numbers = _apart(labels)
    return [numbers[label] for label in labels]


def preferred_colour(label: str) -> int:
    """Return the number of the colour of a label, before it gives way to another."""
    return _preferred(label)[1] % len(theme.COLOURS)


def _apart(labels: Iterable[str]) -> Mapping[str, int]:
    """Return different looks, whose colours repeat only if there are more labels than colours."""
    taken: dict[str, int] = {}
    uses: Counter[int] = Counter()
    n_colours = len(theme.COLOURS)
    for at, label in enumerate(sorted(set(labels), key=lambda label: (_preferred(label)[0], label))):
        start = _preferred(label)[1]
        looks = [(start + more) % _N_LOOKS for more in range(_N_LOOKS)]
        free = [look for look in looks if look not in taken.values()] or looks
        taken[label] = next((look for look in free if uses[look % n_colours] <= at // n_colours), free[0])
        uses[taken[label] % n_colours] += 1
    return taken


def _preferred(label: str) -> tuple[bool, int]:
    """Return False for a known optimizer, else True, and the number of the look."""
    plain = label.lower().replace("_", " ")
    numbers = (_optimizers().get(part) for part in reversed(_PARTS.split(plain)))
    number = next((number for number in numbers if number is not None), None)
    return number is None, crc32(plain.encode()) % _N_LOOKS if number is None else number


@cache
def _optimizers() -> Mapping[str, int]:
    return read_toml("losslake.figures", "optimizers.toml")
