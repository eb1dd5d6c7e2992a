"""The extras of the distribution `losslake`: which one an import that failed would have needed."""

from __future__ import annotations

import traceback

_EXTRAS = {
    "losslake_contributions.client": "ingest",
    "losslake_cli.contributing.check": "ingest",
    "losslake_contributions": "contributions",
    "losslake_service": "service",
    "losslake.spark": "spark",
    "losslake_ingest": "ingest",
    "losslake_cli.changes": "ingest",
}
"""Extras by the packages that import what they bring, those that import others first; for all others, it is `lake`."""


def missing_extra(error: ModuleNotFoundError) -> str:
    """Return the extra that brings a missing library: that of the topmost package on the way to its import."""
    importing = [f"{frame.f_globals.get('__name__', '')}." for frame, _ in traceback.walk_tb(error.__traceback__)]
    extras = (extra for package, extra in _EXTRAS.items() if any(name.startswith(f"{package}.") for name in importing))
    return next(extras, "lake")


def how_to_install(what: str, extra: str) -> str:
    """Return the line that says which extra something needs, and how to install it."""
    return f'{what} needs losslake[{extra}]: pip install "losslake[{extra}]"'
