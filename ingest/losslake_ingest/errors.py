"""Errors of reading what was offered."""

from __future__ import annotations

from losslake_schema.errors import LossLakeError


class SourceBroken(LossLakeError):
    """A source ended or failed before its end; what came before is whole."""


class UnknownSource(LossLakeError):
    """Nothing that LossLake can read is at the offered path."""


class BadMapping(LossLakeError):
    """A mapping file that can't be used."""


class UnknownFormat(LossLakeError):
    """A log format that is asked for is not there, or none fits."""
