"""Published laws for a planned training: sentences with their ranges, and a table by definition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from losslake.questions import recommend
from losslake.questions.recommend import RecommendParameters
from losslake_schema.quantities import abbreviated, counted
from losslake_service.web.page import Content, PageRequest

LawRow = Mapping[str, Any]
# By quantity and definition: the heading of its laws in the table, in this order, and what it is.
_DEFINITIONS: Mapping[tuple[str, str], tuple[str, str]] = {
    ("batch_size", "optimal"): ("Optimal batch size", "the lowest loss after so many tokens"),
    ("batch_size", "mccandlish2018"): (
        "Critical batch size, B_c (McCandlish et al. 2018)",
        "takes twice the fewest steps and twice the fewest tokens to a loss",
    ),
    ("batch_size", "zhang2024"): (
        "Critical batch size, B* (Zhang et al. 2024)",
        "takes 20% more tokens to a loss than at 256 sequences of 512 tokens",
    ),
    ("batch_size", "merrill2025"): (
        "Critical batch size (Merrill et al. 2025)",
        "the largest batch from which a branch of a training loses no more than 0.01",
    ),
    ("learning_rate", "optimal"): ("Learning rate", "the lowest loss after so many tokens"),
}
_OF_ZHANG = "critical-batch-size/"
_INSIDE = {True: "inside", False: "outside: it extrapolates", None: "range not known"}


def published_laws(request: PageRequest, planned: RecommendParameters) -> Content:
    """Return the content about published laws."""
    answer = recommend.QUESTION.answer(request.view, planned)
    rows = answer.table().to_pylist()
    query = {name: _plain(value) for name in ("parameters", "tokens", "loss") if (value := getattr(planned, name))}
    groups = [
        {"heading": heading, "about": about, "laws": [_law(row) for row in rows if _key(row) == key]}
        for key, (heading, about) in _DEFINITIONS.items()
    ]
    return {
        "parameters": abbreviated(planned.parameters),
        "tokens": abbreviated(planned.tokens),
        "per_parameter": planned.tokens / planned.parameters,
        "lead": list(lead(rows)),
        "groups": [group for group in groups if group["laws"]],
        "caveats": list(_caveats(answer.facts)),
        "json": request.url("/v1/analysis/recommend.json", **query),
        "csv": request.url("/v1/analysis/recommend.csv", **query),
    }


def _caveats(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield the warnings of the answer, and what it isn't compared with."""
    yield from facts["warnings"]
    if any(name.startswith(_OF_ZHANG) for name in facts["compared_with"]):
        yield (
            "the laws of Zhang et al. 2024 were fitted to runs of the collection critical-batch-size: "
            "that they agree with it is no test of them"
        )
    yield from (f"not compared with {text}" for text in facts["left_out"])


def lead(rows: Sequence[LawRow]) -> Iterator[str]:
    """Yield what the laws say, apart for optimal and critical batch sizes and learning rates.

    rows: of the answer. Never a value without how many laws give it, and how many of them hold there.
    """
    for quantity, is_optimal, noun in (
        ("batch_size", True, "the optimal batch size"),
        ("batch_size", False, "a critical batch size"),
        ("learning_rate", True, "the learning rate"),
    ):
        of_kind = [
            row for row in rows if row["quantity"] == quantity and (row["definition"] == "optimal") == is_optimal
        ]
        known = [row for row in of_kind if row["value"] is not None]
        if of_kind:
            yield _sentence(known, noun, quantity == "batch_size")


def _sentence(rows: Sequence[LawRow], noun: str, is_in_tokens: bool) -> str:
    """Return the sentence about laws with a value."""
    if not rows:
        return f"No law of {noun} has a value here."
    values = sorted(row["value"] for row in rows)
    show, unit = (abbreviated, " tokens") if is_in_tokens else (_rate, "")
    low, high = show(values[0]), show(values[-1])
    ends = low if low == high else f"{low} to {high}"
    n_inside = sum(row["is_inside"] is True for row in rows)
    n_definitions = len({row["definition"] for row in rows})
    definitions = f" by {n_definitions} definitions" if n_definitions > 1 else ""
    distance = _distance(rows)
    if len(rows) == 1:
        inside = "lies in its range" if n_inside else "isn't known to lie in its range"
        return f"1 law of {noun} gives {ends}{unit}; this training {inside}. {distance}"
    inside = f"this training lies in the range of {n_inside or 'none'} of them"
    return f"{len(rows)} laws of {noun}{definitions} give {ends}{unit}; {inside}. {distance}"


def _distance(rows: Sequence[LawRow]) -> str:
    """Return how far laws are from what is stored, in a sentence."""
    measured = [row for row in rows if row["n_workloads"]]
    if not measured:
        return "No stored workload measures it."
    low, high = min(row["ratio_lowest"] for row in measured), max(row["ratio_highest"] for row in measured)
    # Laws may be compared with different workloads, of which the most are those of all.
    count = counted(max(row["n_workloads"] for row in measured), "stored workload")
    some = f"{len(measured)} of these" if len(measured) < len(rows) else "these"
    which = "it is" if len(rows) == 1 else "1 of these is" if len(measured) == 1 else f"{some} are"
    return f"On {count}, {which} {low:.2f} to {high:.2f} times what was measured."


def _key(row: LawRow) -> tuple[str, str]:
    return row["quantity"], row["definition"]


def _law(row: LawRow) -> dict[str, Any]:
    """Return a row of the table."""
    value, is_rate = row["value"], row["quantity"] == "learning_rate"
    ratios = [row[f"ratio_{name}"] for name in ("median", "lowest", "highest")]
    return {
        **row,
        "text": "" if value is None else _rate(value) if is_rate else f"{abbreviated(value)} tokens",
        "inside": _INSIDE[row["is_inside"]],
        "range": _range(row),
        "ratios": "" if None in ratios else "{:.2f} ({:.2f}\u2013{:.2f})".format(*ratios),
    }


def _range(row: LawRow) -> list[str]:
    """Return the range of a law: N 85M-1.21B and D 4B-100B, as far as they are known."""
    parts = []
    for letter, name in (("N", "parameters"), ("D", "tokens")):
        lower, upper = row[f"{name}_lower"], row[f"{name}_upper"]
        if lower is not None and upper is not None:
            parts.append(f"{letter} {abbreviated(lower)}\u2013{abbreviated(upper)}")
    return parts


def _rate(value: float) -> str:
    return f"{value:.3g}"


def _plain(value: float) -> str:
    """Return a number as text from which the same float is read, without a point where it needs none."""
    return str(int(value)) if value.is_integer() and value < 1e15 else repr(value)
