"""The rules that logs have to keep, by name, and the errors of reading them.

What breaks a rule is quarantined with a reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from losslake_schema.errors import LossLakeError


class Rule(StrEnum):
    """Names of the rules, as the ledger and the summary show them; documented in docs/quarantine.md."""

    PATH_TRICK = "path_trick"
    NOT_A_FILE = "not_a_file"
    FILE_TOO_LARGE = "file_too_large"
    DAMAGED_FILE = "damaged_file"
    DUPLICATE_FILE = "duplicate_file"
    MISSING_FILE = "missing_file"
    BAD_NAME = "bad_name"
    BAD_JSON = "bad_json"
    BAD_FIELD = "bad_field"
    BATCH_SIZE_DISAGREES = "batch_size_disagrees"
    WORKLOAD_DISAGREES = "workload_disagrees"
    TRIAL_ID_DISAGREES = "trial_id_disagrees"
    UNKNOWN_STATUS = "unknown_status"
    EMPTY_FILE = "empty_file"
    BAD_HEADER = "bad_header"
    COLUMNS_DIFFER = "columns_differ"
    WRONG_CELL_COUNT = "wrong_cell_count"
    BAD_STEP = "bad_step"
    NEGATIVE_STEP = "negative_step"
    STEPS_NOT_ASCENDING = "steps_not_ascending"
    NOT_A_NUMBER = "not_a_number"
    UNREADABLE_CSV = "unreadable_csv"
    UNREADABLE_LOG = "unreadable_log"
    NO_MEASUREMENTS = "no_measurements"
    MISSING_FACT = "missing_fact"
    BAD_FACT = "bad_fact"
    FACTS_DISAGREE = "facts_disagree"
    STEP_UNKNOWN = "step_unknown"
    DUPLICATE_TRIAL = "duplicate_trial"
    STATUS_UNDECIDED = "status_undecided"


@dataclass(frozen=True)
class MissingField:
    """Something that a run needs and nothing says; add: the line of the mapping that would say it."""

    what: str
    add: str


class Refusal(Exception):
    """A run, a table or a file that can't be stored: the rule that it breaks, why, and at which line (from 1).

    missing: the fields that are missing, where that is the cause.
    """

    def __init__(
        self, rule: Rule, message: str, line: int | None = None, missing: tuple[MissingField, ...] = ()
    ) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message
        self.line = line
        self.missing = missing


def shown(value: object, at_most: int = 80) -> str:
    """Return a value from a log as a message may show it: quoted, on one line, and not too long."""
    if isinstance(value, str):
        return repr(value if len(value) <= at_most else value[:at_most] + "…")
    text = repr(value)
    return text if len(text) <= at_most else text[:at_most] + "…"


class SourceBroken(LossLakeError):
    """A source breaks off or can't be read on; what came before is whole."""


class UnknownSource(LossLakeError):
    """Nothing that LossLake can read is at the offered path."""


class BadMapping(LossLakeError):
    """A mapping file that can't be used."""


class UnknownFormat(LossLakeError):
    """A requested log format doesn't exist, or none fits."""
