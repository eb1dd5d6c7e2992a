"""The values that `log` is given: numbers as they are now, and what is none and left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

MOST_VALUES = 10_000  # of a call
_DEEPEST = 32  # dictionaries in dictionaries
# float64 and integers never change, so that they can be read later.
IMMUTABLE = frozenset((float, int))
_LONGEST_NAME = 200


def numbers_of(
    values: Mapping[Any, Any], leave_out: Callable[[object, str], None], lose: Callable[[str], None]
) -> dict[Any, Any]:
    """Return the numbers among values, nested ones by names joined with dots, as they are now.

    leave_out: is called with the name and the kind of each value that is no number. lose: with the reason for each
    number that can't be read, such as one on a device that is gone.
    """
    numbers: dict[Any, Any] = {}
    flat = leaves(values)
    for name, value in islice(flat, MOST_VALUES):
        if name in numbers:
            leave_out(name, "logged twice in a call")
            continue
        try:
            numbers[name] = value if type(value) in IMMUTABLE else as_float(value)
        except (TypeError, ValueError, AttributeError):
            leave_out(name, kind_of(value))
        except OverflowError:
            lose("beyond the range of float64")
        except Exception as error:  # noqa: BLE001 - an object's own float() can raise anything
            lose(f"a number that can't be read: {type(error).__name__}")
    if next(flat, None) is not None:
        leave_out("…", f"more than {MOST_VALUES:,} values of a call")
    return numbers


def kind_of(value: object) -> str:
    """Return what a value is, in a word."""
    return "None" if value is None else "text" if isinstance(value, str) else type(value).__name__


def shown(value: object) -> str:
    """Return a value for a message, shortened; its type if it can't be shown."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - an object's own repr() can raise anything
        text = f"<{type(value).__name__}>"
    line = "".join(c if c.isprintable() else "?" for c in text[: _LONGEST_NAME // 2])
    return line if len(text) <= _LONGEST_NAME // 2 else f"{line}…"


def shown_name(name: object) -> str:
    """Return the name of a metric for end.json and messages: printable, shortened."""
    text = str.__str__(name) if isinstance(name, str) else shown(name)
    line = "".join(c if c.isprintable() else "?" for c in text[:_LONGEST_NAME])
    return line if len(text) <= _LONGEST_NAME else f"{line}…"


def leaves(values: Mapping[Any, Any], within: str = "", depth: int = 0) -> Iterator[tuple[Any, Any]]:
    """Yield names and values; those of dictionaries in dictionaries by names joined with dots, as W&B stores them.

    A dictionary with `_type` is a picture or another object of W&B.
    """
    for name, value in values.items():
        joined = f"{within}.{name}" if within else name
        if isinstance(value, Mapping) and value and "_type" not in value and depth < _DEEPEST:
            yield from leaves(value, str(joined), depth + 1)
        else:
            yield joined, value


def as_float(value: Any) -> float:
    """Return a number, or that in an array of one element, as float64. Raises whatever the object raises."""
    if isinstance(value, str | bytes | bytearray):
        raise TypeError(value)
    try:
        return float(value)
    except TypeError:
        return float(value.item())
