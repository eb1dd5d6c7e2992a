"""What became of a trial, in words that need no documentation."""

from __future__ import annotations

from dataclasses import dataclass

from losslake_schema.tables import STATUSES


@dataclass(frozen=True)
class StatusWords:
    """status: as data has it. short: for a table. verb, verbs: of one such trial, of several. meaning: a sentence."""

    status: str
    short: str
    verb: str
    verbs: str
    meaning: str


_WORDS = (
    StatusWords("COMPLETE", "complete", "completed", "completed", "It ran for as many steps as were planned."),
    StatusWords(
        "INCOMPLETE",
        "stopped",
        "was stopped for an outside reason",
        "were stopped for an outside reason",
        "It was stopped for an outside reason before it was done, so nobody knows how it would have gone on.",
    ),
    StatusWords(
        "INFEASIBLE",
        "diverged",
        "diverged",
        "diverged",
        "It diverged: training went so wrong, with a loss that is no number for example, that it could not go on.",
    ),
)
STATUS_WORDS = {words.status: words for words in _WORDS}
BY_INDEX = tuple(STATUS_WORDS[status] for status in STATUSES)
"""In the order of STATUSES, by which trials tell their status."""
