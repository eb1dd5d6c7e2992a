"""Which LossLake this is."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def _installed() -> str:
    try:
        return version("losslake")
    except PackageNotFoundError:
        return "0"


VERSION = _installed()
