"""Fields of rows that tell measurements of one metric apart, such as `split`: never one curve without a word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from losslake_ingest.contracts.rules import MissingField, Refusal, Rule, shown
from losslake_ingest.contracts.run_log import Scalar
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.mapping.metrics import ColumnMetric
from losslake_ingest.mapping.repeats import Piece
from losslake_ingest.mapping.row_keys import FLAG_WORDS, RowKey, row_key, split_named
from losslake_ingest.mapping.toml import toml_key, toml_string, toml_value

_MOST_COLUMNS = 20
_APART = (RowKey.RUN, RowKey.RANK)


@dataclass
class _Group:
    """The rows of a metric with one value of a field: their lowest and highest step, and the line of the first one."""

    low: int
    high: int
    line: int | None


@dataclass(frozen=True)
class _Difference:
    """A field whose values tell measurements of a metric apart. groups: by value, None for rows without the field."""

    metric: str
    field: str
    key: RowKey | None
    groups: Mapping[Scalar | None, _Group]

    def pairs(self) -> Iterator[tuple[Scalar | None, Scalar | None, bool]]:
        """Yield each two values, and whether their rows can't be one curve: by the key, or as their steps overlap."""
        for (one, first), (other, second) in combinations(self.groups.items(), 2):
            are_apart = self.key is RowKey.SPLIT or (self.key in _APART and None not in (one, other))
            yield one, other, are_apart or (first.low <= second.high and second.low <= first.high)


def check_fields(
    series: Mapping[str, Sequence[Piece]], mapping: LogMapping, beyond_words: Mapping[str, int | None]
) -> Iterator[str]:
    """Yield remarks on fields, such as `split`, that tell measurements of one metric apart at later steps.

    Raises Refusal if these can't be one curve. series: the measurements of each metric. beyond_words: as in a RunLog.
    """
    if not all(piece.metric.repeated for pieces in series.values() for piece in pieces):
        for column, line in beyond_words.items():
            raise _too_many(column, line, mapping)
    differences = [each for metric, pieces in series.items() for each in _differences(metric, pieces)]
    differences.sort(key=lambda each: (each.key not in _APART, -len(each.groups) * (each.key is RowKey.RUN)))
    for each in differences:
        for one, other, is_refused in each.pairs():
            what = f"{each.metric} is logged {_with(each.field, one)} and {_with(each.field, other)}"
            if is_refused:
                metrics = {another.metric for another in differences if another.field == each.field}
                columns = {piece.metric.column: piece.metric for metric in sorted(metrics) for piece in series[metric]}
                line = each.groups[other].line
                raise _refusal(what, each, list(columns.values())[:_MOST_COLUMNS], line, mapping)
            yield f"{what}, at later steps: stored as one curve"


def _with(field: str, value: Scalar | None) -> str:
    return f"without {field}" if value is None else f"with {field} = {shown(value)}"


def _differences(metric: str, pieces: Sequence[Piece]) -> Iterator[_Difference]:
    """Yield the fields whose values tell measurements of a metric apart.

    A missing value is one of a key. Yes and no of other fields tell nothing apart: they mark rows, such as those of
    the best model.
    """
    measured = [piece for piece in pieces if len(piece.measured[0])]
    if len(measured) < 2 or all(piece.metric.repeated for piece in pieces):
        return
    for field in dict.fromkeys(name for piece in measured for name in piece.rows.fields):
        groups: dict[Scalar | None, _Group] = {}
        for piece in measured:
            low, high = int(piece.measured[0].min()), int(piece.measured[0].max())
            group = groups.setdefault(piece.rows.fields.get(field), _Group(low, high, piece.line()))
            group.low, group.high = min(low, group.low), max(high, group.high)
        values = [value for value in groups if value is not None]
        key = row_key(field, values)
        if key is None:
            groups.pop(None, None)
        if key is not None or not all(str(value).lower() in FLAG_WORDS for value in values):
            yield _Difference(metric, field, key, groups)


def _refusal(
    what: str, difference: _Difference, columns: Sequence[ColumnMetric], line: int | None, mapping: LogMapping
) -> Refusal:
    """Return the refusal of rows that a field tells apart, with the lines to add.

    columns: of all metrics whose rows it tells apart. line: of the log, where the second value begins.
    """
    field, values = difference.field, list(difference.groups)
    words = [value for value in values if value is not None]
    omitted = f'{toml_key(field)} = ""   # under [metrics]'
    if difference.key is RowKey.RUN and mapping.run.column is None:
        missing = [MissingField(what, f"column = {toml_string(field)}   # under [run]")]
        rest = f"; rows without it are left out; if all are one run, {omitted}"
        rest = rest if None in values else f"; if all are one run, {omitted}"
    elif difference.key in _APART:
        words.sort(key=lambda value: (isinstance(value, str), value))
        lines = {column.column: '""' for column in columns}
        missing = [_when(what, field, words if None in values else words[1:], lines)]
        rest = f", which leaves these rows out; if all are one run, {omitted}"
    else:
        splits = {value: split_named(field, value) for value in words}
        split = difference.metric.partition("/")[0]
        stays = None if None in values else next((value for value in words if splits[value] == split), words[0])
        missing = [
            _when(what, field, [value], {column.column: _line(column, splits[value]) for column in columns})
            for value in words
            if value != stays
        ]
        one = 'repeated = "last" (docs/mapping.md)' if difference.key is None else omitted
        others = "; other rows keep the metric of [metrics]"
        if stays is None and split in splits.values():  # Rows that name the split of [metrics] are told from others.
            others = "; other rows keep the metric of [metrics], so give them another one there"
            comment = f"under [metrics]: of rows without {field}"
            missing += [MissingField(what, f'{toml_key(column.column)} = "…"   # {comment}') for column in columns]
        rest = f"{others}; if it is one metric, {one}"
        rest = f", and so on for each{rest}" if len(words) > 2 or (len(words) > 1 and stays is None) else rest
    message = f"{what}: add to the mapping: {missing[0].inline}{rest}"
    return Refusal(Rule.VALUES_DISAGREE, message, line, missing=tuple(missing))


def _too_many(column: str, line: int | None, mapping: LogMapping) -> Refusal:
    what = f"{column} has more values than rows of one run are told apart by"
    one_run = f'if all are one run, {toml_key(column)} = ""   # under [metrics]'
    if mapping.run.column is not None:
        return Refusal(Rule.VALUES_DISAGREE, f"{what}: split the file by it; {one_run}", line)
    missing = MissingField(what, f"column = {toml_string(column)}   # under [run]")
    return Refusal(Rule.VALUES_DISAGREE, f"{what}: add to the mapping: {missing.add}; {one_run}", line, (missing,))


def _when(what: str, field: str, values: Sequence[Scalar], lines: Mapping[str, str]) -> MissingField:
    condition = toml_value(values[0]) if len(values) == 1 else f"[{', '.join(map(toml_value, values))}]"
    metrics = ", ".join(f"{toml_key(column)} = {line}" for column, line in lines.items())
    return MissingField(what, f"[[when]]\nif = {{ {toml_key(field)} = {condition} }}\nmetrics = {{ {metrics} }}")


def _line(column: ColumnMetric, split: str | None) -> str:
    """Return the line of a column for rows of another split, in its unit."""
    quantity = column.name.partition("/")[2]
    metric = toml_string(f"{split}/{quantity}" if split else "…")
    unit = {"scale": column.scale, "offset": column.offset} if column.formula else {}
    keys = [f"metric = {metric}", *(f"{key} = {float(value)!r}" for key, value in unit.items())]
    return f"{{ {', '.join(keys)} }}" if unit else metric
