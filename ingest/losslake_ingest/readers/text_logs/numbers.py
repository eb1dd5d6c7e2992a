"""Numbers as logs write them: `1,000`, `1.5k`, `2M`, and durations such as `1:02:03`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from losslake_ingest.readers.tables.cells import EMPTY_WORDS, NUMBER
from losslake_schema.reached import Flags, Floats

UNITS = {"kK": "e3", "M": "e6", "BG": "e9", "T": "e12"}
LETTERS = "".join(UNITS)
_GROUPED = "^[1-9][0-9]{0,2}(?:,[0-9]{3})+$"
_UNIT = r"^([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)) ?[{}]$"
_DURATION = (
    r"^(?:(?P<days>[0-9]{1,9}) days?,? )?(?:(?P<hours>[0-9]{1,9}):)?"
    r"(?P<minutes>[0-9]{1,9}):(?P<seconds>[0-9]{2}(?:\.[0-9]+)?)$"
)
_SECONDS = {"days": 86_400.0, "hours": 3_600.0, "minutes": 60.0, "seconds": 1.0}
_THOUSANDS = r"^(?:0|[1-9][0-9]{0,2}\.[0-9]{3})$"


def read_numbers(texts: pa.Array, is_grouped: bool = False, is_time: bool = False) -> tuple[Floats, Flags, Flags]:
    """Return the numbers of stripped texts, flags of those that are missing, and of those that are no number.

    is_grouped: `1,000` is a number. is_time: `1:02:03` is a number of seconds.
    """
    empty = pc.is_in(texts, value_set=pa.array(EMPTY_WORDS, texts.type))
    try:
        numbers, wrong = pc.if_else(empty, None, texts).cast(pa.float64()), np.zeros(len(texts), np.bool_)
    except pa.ArrowInvalid:
        plain = _without_units(texts, is_grouped)
        numeric = pc.match_substring_regex(plain, f"^(?:{NUMBER.pattern})$", ignore_case=True)
        numbers = pc.ascii_ltrim(pc.if_else(numeric, plain, None), characters="+").cast(pa.float64())
        if is_time:
            numbers = pc.coalesce(numbers, _durations(texts))
        wrong = pc.and_not(numbers.is_null(), empty).to_numpy(zero_copy_only=False)
    missing = numbers.is_null().to_numpy(zero_copy_only=False)
    return numbers.fill_null(np.nan).to_numpy(), missing, wrong


def may_have_thousands(texts: pa.Array) -> bool:
    """Return True if all texts but 0 are like `1.000`, which may be one, or one thousand."""
    return (
        len(texts) > 0
        and bool(pc.match_substring_regex(texts[:1], _THOUSANDS)[0].as_py())
        and bool(pc.all(pc.match_substring_regex(texts, _THOUSANDS)).as_py())
        and bool(pc.any(pc.match_substring(texts, ".")).as_py())
    )


def _without_units(texts: pa.Array, is_grouped: bool) -> pa.Array:
    """Return the texts with `1.5k` as `1.5e3`, and without commas between thousands."""
    if is_grouped:
        grouped = pc.match_substring_regex(texts, _GROUPED)
        texts = pc.if_else(grouped, pc.replace_substring(texts, ",", ""), texts)
    for letters, power in UNITS.items():
        texts = pc.replace_substring_regex(texts, _UNIT.format(letters), rf"\1{power}")
    return texts


def _durations(texts: pa.Array) -> pa.Array:
    """Return the seconds of durations, null for other texts."""
    parts = pc.extract_regex(texts, _DURATION)
    seconds = pa.array(np.zeros(len(texts)))
    for name, factor in _SECONDS.items():
        part = pc.struct_field(parts, name)
        number = pc.if_else(pc.equal(part, ""), "0", part).cast(pa.float64())
        seconds = pc.add(seconds, pc.multiply(number, factor))
    return seconds
