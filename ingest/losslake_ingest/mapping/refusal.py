"""Why a run can't be placed: which rule, and the line to add to the mapping."""

from __future__ import annotations

from dataclasses import dataclass

from losslake_ingest.rules import Rule


@dataclass(frozen=True)
class Lack:
    """Something that a run needs and nothing says; add: the line of the mapping that would say it."""

    what: str
    add: str


class Refusal(Exception):
    """A run that can't be stored: the rule that it breaks, why, and what is lacking where that is the cause."""

    def __init__(self, rule: Rule, message: str, lacks: tuple[Lack, ...] = ()) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message
        self.lacks = lacks
