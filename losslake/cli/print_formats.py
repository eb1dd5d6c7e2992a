"""The forms in which a command can print."""

from __future__ import annotations

from enum import StrEnum


class TextFormat(StrEnum):
    table = "table"
    csv = "csv"
    json = "json"


class Format(StrEnum):
    table = "table"
    csv = "csv"
    json = "json"
    parquet = "parquet"
