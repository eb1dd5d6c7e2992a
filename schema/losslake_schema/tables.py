"""The tables of a lake as Arrow schemas with Iceberg field ids. The column names are an interface.

Seven are in every lake; `contributors` and `copies` are created when a release first has rows for them.
`measurements` and `records` are tidy, one row per (trial, step, metric), partitioned by study. The others are small:
each release has one file per table. Data files of partitioned tables omit the keys of the study: these are in the path
(Hive style, percent-encoded) and in Iceberg's partition data.

A value is the float64 nearest to the log's text, in every row.
"""

from __future__ import annotations

import pyarrow as pa

NAMESPACE = "losslake"
STUDY_KEYS = ("collection", "dataset", "model", "optimizer", "batch_size")


def _schema(*fields: tuple[str, pa.DataType, str]) -> pa.Schema:
    """Return a schema whose fields have ids from 1 in order; ids of nested fields follow."""
    numbered = []
    next_nested = len(fields) + 1
    for number, (name, kind, doc) in enumerate(fields, start=1):
        if pa.types.is_map(kind):
            key = pa.field("key", kind.key_type, nullable=False, metadata=_identity(next_nested))
            value = pa.field("value", kind.item_type, nullable=False, metadata=_identity(next_nested + 1))
            kind = pa.map_(key, value)
            next_nested += 2
        elif pa.types.is_list(kind):
            kind = pa.list_(pa.field("element", kind.value_type, nullable=False, metadata=_identity(next_nested)))
            next_nested += 1
        numbered.append(pa.field(name, kind, metadata=_identity(number) | {b"doc": doc.encode()}))
    return pa.schema(numbered)


def _identity(number: int) -> dict[bytes, bytes]:
    return {b"PARQUET:field_id": str(number).encode()}


_KEYS = (
    ("collection", pa.string(), "source of the study; slashes separate sub-collections"),
    ("dataset", pa.string(), "data set trained on"),
    ("model", pa.string(), "model trained"),
    ("optimizer", pa.string(), "optimizer that trained it"),
    ("batch_size", pa.int64(), "batch size, in the study's batch_unit"),
)
_TRIAL_ID = ("trial_id", pa.int64(), "number of the trial within its study")
_ELAPSED = ("elapsed_s", pa.float64(), "seconds since the start of training, where known")

COLLECTIONS = _schema(
    ("collection", pa.string(), "name, as in every other table"),
    ("title", pa.string(), "title, in one line"),
    ("licence", pa.string(), "licence of the data, as its source states it"),
    ("citation", pa.string(), "what to cite"),
    ("source_url", pa.string(), "where it was published"),
)

STUDIES = _schema(
    *_KEYS,
    ("batch_unit", pa.string(), "what batch_size counts: examples, tokens, sequences, seconds of audio"),
    ("train_steps", pa.int64(), "least number of steps for a trial to count as COMPLETE; 0: a time budget"),
    ("early_stopping", pa.bool_(), "true if bad trials may have been stopped early"),
    ("parameter_configs", pa.string(), "JSON: the search space, by metaparameter"),
    ("metrics", pa.list_(pa.string()), "metrics measured, by name"),
    ("n_trials", pa.int64(), "trials stored"),
    ("n_complete", pa.int64(), "of these, COMPLETE"),
    ("n_incomplete", pa.int64(), "of these, INCOMPLETE"),
    ("n_infeasible", pa.int64(), "of these, INFEASIBLE"),
    ("n_quarantined", pa.int64(), "trials offered but not stored; the ledger says why"),
    ("n_evaluations", pa.int64(), "rows of (trial, step)"),
    ("n_measurements", pa.int64(), "rows of (trial, step, metric)"),
    ("n_nonfinite", pa.int64(), "measurements that are NaN or infinite"),
    ("format", pa.string(), "log format it was read from"),
    (
        "source",
        pa.string(),
        "name of what it was read from: a folder, NAME@sha256:… of a file, or a URL followed by the same",
    ),
    ("source_digest", pa.string(), "sha256 over the sha256 of its source files"),
    ("content_digest", pa.string(), "sha256 over its trials and measurements, whatever file they are in"),
)

_RUN = (
    (
        "status",
        pa.string(),
        "COMPLETE, INCOMPLETE (stopped early, or missed its goal) or INFEASIBLE (diverged), as the log says",
    ),
    ("steps", pa.int64(), "steps taken, as stated by the log"),
    ("parameters", pa.map_(pa.string(), pa.float64()), "numeric metaparameters"),
    ("attributes", pa.map_(pa.string(), pa.string()), "metaparameters that are not numbers, as JSON"),
)
_LOG = (
    ("source", pa.string(), "file its curve was read from, within the study's source"),
    ("source_sha256", pa.string(), "sha256 of that file"),
)

TRIALS = _schema(
    *_KEYS,
    _TRIAL_ID,
    *_RUN,
    ("n_evaluations", pa.int64(), "steps at which it was evaluated"),
    ("n_nonfinite", pa.int64(), "measurements that are NaN or infinite"),
    ("last_step", pa.int64(), "last step at which it was evaluated; null if it never was"),
    *_LOG,
    ("content_digest", pa.string(), "sha256 over status, steps, metaparameters and curve, whatever file they are in"),
)

MEASUREMENTS = _schema(
    *_KEYS,
    ("metric", pa.string(), "split/quantity"),
    _TRIAL_ID,
    ("step", pa.int64(), "updates of the parameters before this evaluation"),
    ("value", pa.float64(), "value of the metric; may be NaN or infinite"),
    _ELAPSED,
)

RECORDS = _schema(
    *_KEYS,
    ("metric", pa.string(), "split/quantity, of a metric with a known direction"),
    _TRIAL_ID,
    ("step", pa.int64(), "step of the record"),
    ("previous_step", pa.int64(), "step of the same trial's previous measurement of this metric; null if none"),
    ("value", pa.float64(), "value of the metric, finite and strictly better than at every earlier step"),
    _ELAPSED,
)

METRICS = _schema(
    ("metric", pa.string(), "split/quantity"),
    ("split", pa.string(), "train, val or test"),
    ("quantity", pa.string(), "what is measured"),
    ("direction", pa.string(), "minimize or maximize; null if unknown: a query must state it"),
    ("unit", pa.string(), "unit of the value"),
    ("description", pa.string(), "what it means"),
)

GOALS = _schema(
    *((key, pa.string(), "of the workload") for key in STUDY_KEYS[:4]),
    ("metric", pa.string(), "split/quantity"),
    (
        "target",
        pa.float64(),
        "a trial reaches the goal when it is better than this, or, if comparator says so, equal to it",
    ),
    ("comparator", pa.string(), "strict: a value has to be better than the target; inclusive: or equal to it"),
    ("source", pa.string(), "where the goal comes from"),
)

CONTRIBUTORS = _schema(
    *_KEYS,
    _TRIAL_ID,
    ("name", pa.string(), "name of who contributed to the trial: a person or an organisation"),
    ("orcid", pa.string(), "ORCID iD, as 0000-0002-1825-0097; empty if none is stated"),
    ("role", pa.string(), "what they did, such as data collection"),
    ("contribution", pa.string(), "identifier of the submission that the trial came with; empty if there was none"),
)

# One row per trial and other log of the same run, with the facts as that log states them.
COPIES = _schema(*_KEYS, _TRIAL_ID, *_RUN, *_LOG)

# The tables that every lake has.
TABLES: dict[str, pa.Schema] = {
    "collections": COLLECTIONS,
    "studies": STUDIES,
    "trials": TRIALS,
    "measurements": MEASUREMENTS,
    "records": RECORDS,
    "metrics": METRICS,
    "goals": GOALS,
}
# Tables that a release has only if they have rows. Their Iceberg tables are created with the first rows.
OPTIONAL_TABLES: dict[str, pa.Schema] = {"contributors": CONTRIBUTORS, "copies": COPIES}
ALL_TABLES = TABLES | OPTIONAL_TABLES
PARTITIONED = ("measurements", "records")


def file_schema(name: str) -> pa.Schema:
    """Return the schema of a table's data files.

    Files of a partitioned table omit the keys of the partition. Their metric, constant in a row group, is a dictionary.
    """
    if name not in PARTITIONED:
        return ALL_TABLES[name]
    metric = pa.dictionary(pa.int32(), pa.string())
    stored = [field for field in TABLES[name] if field.name not in STUDY_KEYS]
    return pa.schema([field.with_type(metric) if field.name == "metric" else field for field in stored])
