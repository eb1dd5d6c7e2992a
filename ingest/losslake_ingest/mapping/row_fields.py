"""Fields of rows that tell measurements of one metric apart, such as `split`: never one curve without a word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from losslake_ingest.contracts.rules import MissingField, Refusal, Rule, shown
from losslake_ingest.contracts.run_log import Scalar
from losslake_ingest.mapping.repeats import Piece
from losslake_ingest.mapping.toml import toml_key, toml_string

_FLAG_WORDS = ("true", "false", "yes", "no")


def check_fields(metric: str, pieces: Sequence[Piece]) -> Iterator[str]:
    """Yield remarks on fields, such as `split`, that tell measurements of one metric apart at later steps.

    Raises Refusal if their steps overlap.
    """
    for name, one, other, is_overlapping in _different_fields(pieces):
        what = f"{metric} is logged with {name} = {shown(one)} and with {name} = {shown(other)}"
        if is_overlapping:
            column = toml_key(pieces[0].metric.column)
            condition = f"if = {{ {toml_key(name)} = {toml_string(str(one))} }}"
            missing = MissingField(what, f'[[when]]\n{condition}\nmetrics = {{ {column} = "…" }}')
            one_metric = 'if it is one metric, say repeated = "last" (docs/mapping.md)'
            message = f"{what}: add to the mapping, for each: {missing.inline}; {one_metric}"
            raise Refusal(Rule.VALUES_DISAGREE, message, missing=(missing,))
        yield f"{what}, at later steps: stored as one curve"


def _different_fields(pieces: Sequence[Piece]) -> Iterator[tuple[str, Scalar, Scalar, bool]]:
    """Yield fields whose values tell measurements of a metric apart: name, two values, and whether their steps overlap.

    Yes and no tell nothing apart: they mark rows, such as those of the best model.
    """
    ranges: dict[str, dict[Scalar, tuple[int, int]]] = {}
    for piece in pieces if len(pieces) > 1 else ():
        if len(piece.measured[0]):
            low, high = int(piece.measured[0].min()), int(piece.measured[0].max())
            for name, value in piece.fields.items():
                first, last = ranges.setdefault(name, {}).setdefault(value, (low, high))
                ranges[name][value] = min(low, first), max(high, last)
    for name, values in ranges.items():
        if not all(str(value).lower() in _FLAG_WORDS for value in values):
            for (one, (first, last)), (other, (begin, end)) in combinations(values.items(), 2):
                yield name, one, other, first <= end and begin <= last
