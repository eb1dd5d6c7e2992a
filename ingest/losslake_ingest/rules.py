"""The rules that what is offered has to keep, by name; what breaks one is quarantined with a reason.

Errors of reading what was offered.
"""

from __future__ import annotations

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


class SourceBroken(LossLakeError):
    """A source ended or failed before its end; what came before is whole."""


class UnknownSource(LossLakeError):
    """Nothing that LossLake can read is at the offered path."""


class BadMapping(LossLakeError):
    """A mapping file that can't be used."""


class UnknownFormat(LossLakeError):
    """A log format that is asked for is not there, or none fits."""
