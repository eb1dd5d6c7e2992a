"""Columns as text, many values at a time: for JSON and CSV."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from losslake.output.json_values import json_texts, text_leaves


def is_json(field: pa.Field) -> bool:
    """Whether the texts of this column are JSON already."""
    return field.metadata is not None and field.metadata.get(b"json") == b"yes"


def json_column(array: pa.Array, field: pa.Field) -> pl.Series:
    """Each value as JSON text."""
    kind = field.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return _series(array).cast(pl.String).fill_null("null")
    if pa.types.is_floating(kind):
        return _floats(array).fill_null("null")
    return _series(json_texts(array, is_json(field)))


def csv_column(array: pa.Array, field: pa.Field) -> pl.Series:
    """Each value as polars can write it: what nests as JSON; floats may be NaN, inf and -inf."""
    kind = field.type
    if pa.types.is_floating(kind):
        return _series(array.cast(pa.float64()))
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return _series(array)
    if pa.types.is_nested(kind) or pa.types.is_decimal(kind) or is_json(field):
        return _series(pc.if_else(array.is_valid(), json_texts(array, is_json(field)), None))
    return _series(text_leaves(array).cast(pa.string()))


def _series(array: pa.Array) -> pl.Series:
    return pl.Series(array)


def _floats(array: pa.Array) -> pl.Series:
    """The shortest text that gives the same float again."""
    values = _series(array.cast(pa.float64()))
    texts = values.cast(pl.String)
    if values.is_finite().all():
        return texts
    words = (
        pl.when(values.is_nan())
        .then(pl.lit('"NaN"'))
        .when(values.is_infinite() & (values > 0))
        .then(pl.lit('"Infinity"'))
        .when(values.is_infinite())
        .then(pl.lit('"-Infinity"'))
        .otherwise(texts)
    )
    return pl.select(words).to_series()
