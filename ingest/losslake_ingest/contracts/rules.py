"""The rules for logs, by name, and the errors of reading logs.

Whatever breaks a rule is quarantined with a reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from losslake_schema.errors import LossLakeError
from losslake_schema.names import Workload

NO_MEMORY = "there isn't enough memory to read it: split the file"


class Rule(StrEnum):
    """Names of the rules, as shown in the ledger and the summary; documented in docs/quarantine.md."""

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
    BLANK_LINE = "blank_line"
    WRONG_CELL_COUNT = "wrong_cell_count"
    BAD_STEP = "bad_step"
    NEGATIVE_STEP = "negative_step"
    STEPS_NOT_ASCENDING = "steps_not_ascending"
    NOT_A_NUMBER = "not_a_number"
    UNREADABLE_CSV = "unreadable_csv"
    UNREADABLE_LOG = "unreadable_log"
    DAMAGED_LOG = "damaged_log"
    UNREADABLE_SIDE_FILE = "unreadable_side_file"
    OUT_OF_RANGE = "out_of_range"
    NO_MEASUREMENTS = "no_measurements"
    MISSING_FACT = "missing_fact"
    BAD_FACT = "bad_fact"
    FACTS_DISAGREE = "facts_disagree"
    VALUES_DISAGREE = "values_disagree"
    STEP_UNKNOWN = "step_unknown"
    STEP_DOUBTFUL = "step_doubtful"
    DUPLICATE_TRIAL = "duplicate_trial"
    DUPLICATE_SOURCE = "duplicate_source"
    STATUS_UNDECIDED = "status_undecided"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class MissingField:
    """A value that a run needs and nothing provides. add: the lines of the mapping that would provide it.

    may_differ: another workload may need another value.
    """

    what: str
    add: str
    may_differ: bool = False

    @property
    def inline(self) -> str:
        """The lines to add, within a sentence."""
        first, *others = self.add.splitlines()
        return f"{first} {', '.join(others)}" if others else first


class Refusal(Exception):
    """A run, table or file breaks a rule and can't be stored. line: counted from 1.

    missing: the missing fields, if they are the cause. workload: of the run, if it was known by then.
    """

    def __init__(
        self, rule: Rule, message: str, line: int | None = None, missing: tuple[MissingField, ...] = ()
    ) -> None:
        super().__init__(message)
        self.rule = rule
        self.message = message
        self.line = line
        self.missing = missing
        self.workload: Workload | None = None


def mapping_lacks(
    rule: Rule, message: str, add: str, line: int | None = None, *, what: str = "", may_differ: bool = False
) -> Refusal:
    """Return the refusal of a run for which the mapping has to state `add`; see `MissingField`.

    what: is missing, if the message says more.
    """
    missing = MissingField(what or message, add, may_differ)
    return Refusal(rule, f"{message}: add to the mapping: {missing.inline}", line, (missing,))


def shown(value: object, limit: int = 80) -> str:
    """Format a value from a log for a message: quoted, on one line, and not too long."""
    if isinstance(value, str):
        return repr(value if len(value) <= limit else value[:limit] + "…")
    text = repr(value)
    return text if len(text) <= limit else text[:limit] + "…"


class SourceBroken(LossLakeError):
    """A source ends early or can't be read on; everything before the break is valid."""


class UnknownSource(LossLakeError):
    """The given path holds nothing that LossLake can read."""


class BadMapping(LossLakeError):
    """A mapping file is invalid or can't be read or written."""


class UnknownFormat(LossLakeError):
    """The requested log format doesn't exist, or no format fits."""
