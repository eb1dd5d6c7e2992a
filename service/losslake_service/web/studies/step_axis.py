"""The choice between linear and logarithmic steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

_PLACE = "#curves-heading"


@dataclass(frozen=True)
class Steps:
    """The curves over linear, and over logarithmic steps: addresses of the page."""

    linear: str
    log: str

    @staticmethod
    def of(url: Callable[[str | None], str]) -> Steps:
        """The addresses by what makes them of the axis; None is the default, linear."""
        return Steps(url(None) + _PLACE, url("log") + _PLACE)
