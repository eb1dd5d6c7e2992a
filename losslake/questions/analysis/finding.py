"""What every analysis says of itself, beside its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """How an analysis came to its rows.

    definition: of what was computed, with its source. n_used: how many values it is computed from, as the definition
    counts them. left_out: what was not used, and why. warnings: what to know before relying on it. All in words.
    """

    definition: str
    n_used: int
    left_out: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def facts(self) -> dict[str, Any]:
        """The same as facts of an answer."""
        return {
            "definition": self.definition,
            "n_used": self.n_used,
            "left_out": list(self.left_out),
            "warnings": list(self.warnings),
        }
