"""Logs of AlgoPerf's harness: a folder `trial_N` with measurements.csv, eval_measurements.csv and JSON files.

Source: mlcommons/algorithmic-efficiency, logger_utils.py; logs as published in mlcommons/submissions_algorithms.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from losslake_ingest.documents import read_python_json
from losslake_ingest.formats.format import Glimpse, defaults_of
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.report import Quarantined
from losslake_ingest.rules import Refusal, Rule
from losslake_ingest.run_log import LoggedGoal, LoggedRows, RunLog, Scalar
from losslake_ingest.sources.member import Refused, Source, UntilBreak
from losslake_ingest.tables.csv_table import read_csv

ALL, EVALUATIONS = "measurements.csv", "eval_measurements.csv"
STEP, SCORE = "global_step", "score"
LARGEST_JSON = 1 << 20
_TRIAL = re.compile(r"trial_[0-9]+")
_HYPERPARAMETERS = re.compile(r"hparams[^/]*\.json")
_META = re.compile(r"meta_data_[0-9]+\.json")
_FLAGS = re.compile(r"flags_[0-9]+\.json")
_FLAGS_KEPT = ("workload", "framework", "tuning_ruleset", "num_tuning_trials", "rng_seed", "max_global_steps")
_FOLDER = re.compile(r"(?:.*/)?(?P<workload>[^/]+?)(?:_(?P<framework>jax|pytorch))?/trial_[0-9]+")
_TARGETS = {"validation": "validation_target_value", "test": "test_target_value"}


class AlgoPerf:
    """One run per trial folder; targets and metaparameters from the JSON files beside the curves."""

    name = "algoperf"
    reads = "trial_N/ with measurements.csv, eval_measurements.csv, hparams.json, meta_data_0.json, flags_0.json"
    needs = "collection, optimizer, batch_size (the logs don't say it)"
    defaults = defaults_of("algoperf")

    def detect(self, file: Glimpse) -> float:
        if not _is_of_trial(file.path):
            return 0.0
        if file.name in (ALL, EVALUATIONS) and STEP.encode() in file.start.partition(b"\n")[0]:
            return 1.0
        is_meta = _META.fullmatch(file.name) and b'"workload.' in file.start
        return 1.0 if is_meta else 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        trial: _TrialFiles | None = None
        seen: set[str] = set()
        members = UntilBreak(source.members(_is_wanted))
        for member in members:
            folder, _, name = member.path.rpartition("/")
            if trial is not None and folder != trial.folder:
                yield trial.run(source.name)
                trial = None
            if isinstance(member, Refused):
                yield Quarantined(source.name, member.path, member.rule, member.message)
            elif trial is None and folder in seen:
                message = "its trial's other files lie elsewhere in the archive: sort the archive by path"
                yield Quarantined(source.name, member.path, Rule.DUPLICATE_FILE, message)
            else:
                seen.add(folder)
                trial = trial or _TrialFiles(folder)
                trial.files[name] = member.data
        if trial is not None:
            yield trial.run(source.name)
        members.tell()


@dataclass
class _TrialFiles:
    """The files of one trial's folder, by name."""

    folder: str
    files: dict[str, bytes] = field(default_factory=dict)

    def run(self, source: str) -> RunLog | Quarantined:
        if ALL not in self.files and EVALUATIONS not in self.files:
            message = f"neither {ALL} nor {EVALUATIONS} is there: the trial was never evaluated"
            return Quarantined(source, self.folder, Rule.MISSING_FILE, message)
        remarks: Counter[str] = Counter()
        tables: dict[str, LoggedRows] = {}
        for name in (EVALUATIONS, ALL):
            try:
                if name in self.files:
                    tables[name] = _table(self.files[name], remarks)
            except Refusal as fault:
                return Quarantined(source, f"{self.folder}/{name}", fault.rule, fault.message, fault.line)
        hyperparameters = self._json(_HYPERPARAMETERS, remarks)
        meta = {
            key.removeprefix("workload."): value
            for key, value in self._json(_META, remarks).items()
            if key.startswith("workload.")
        }
        flags = {key: value for key, value in self._json(_FLAGS, remarks).items() if key in _FLAGS_KEPT}
        path = _FOLDER.fullmatch(self.folder)
        in_path = {key: value for key, value in path.groupdict().items() if value} if path else {}
        return RunLog(
            run=self.folder,
            files={f"{self.folder}/{name}": hashlib.sha256(data).hexdigest() for name, data in self.files.items()},
            rows=_rows(tables, remarks),
            fields={**hyperparameters, **meta, **in_path, **flags},
            parameters=hyperparameters,
            goals=_goals(meta),
            remarks=dict(remarks),
        )

    def _json(self, name: re.Pattern[str], remarks: Counter[str]) -> dict[str, Scalar]:
        """The scalars of the JSON files of that name, a later file's over an earlier one's."""
        scalars: dict[str, Scalar] = {}
        for file in sorted(file for file in self.files if name.fullmatch(file)):
            data = self.files[file]
            document = read_python_json(data) if len(data) <= LARGEST_JSON else None
            if isinstance(document, dict):
                scalars |= {key: value for key, value in document.items() if isinstance(value, Scalar)}
            else:
                remarks["JSON file that can't be read passed over"] = 1
        return scalars


def _table(data: bytes, remarks: Counter[str]) -> LoggedRows:
    """The numbers of a CSV; raises Refusal."""
    table = read_csv(data)
    remarks.update(table.remarks)
    columns = {name: numbers.values for name, numbers in table.numbers.items()}
    missing = {name: numbers.missing for name, numbers in table.numbers.items() if numbers.missing is not None}
    return LoggedRows(columns, missing)


def _rows(tables: Mapping[str, LoggedRows], remarks: Counter[str]) -> list[LoggedRows]:
    """The curve; eval_measurements.csv has the last word on an evaluation that both files have.

    A restarted harness rewrites measurements.csv through pandas, which costs the last digit of some values.
    """
    both = [tables[name] for name in (ALL, EVALUATIONS) if name in tables]
    if len(both) < 2 or SCORE not in both[0].columns or any(STEP not in table.columns for table in both):
        return both
    everything, evaluations = both
    steps = everything.columns[STEP]
    is_evaluation = ~everything.missing.get(SCORE, np.zeros(len(steps), np.bool_))
    in_both = is_evaluation & np.isin(steps, evaluations.columns[STEP])
    only_there = int((is_evaluation & ~in_both).sum())
    if only_there:
        remarks[f"evaluation that only {ALL} has"] = only_there
    columns = {name: values[~in_both] for name, values in everything.columns.items()}
    missing = {name: flags[~in_both] for name, flags in everything.missing.items()}
    return [LoggedRows(columns, missing), evaluations]


def _goals(meta: Mapping[str, Scalar]) -> list[LoggedGoal]:
    """The validation and test targets that the workload names; AlgoPerf itself counts equality as reached."""
    metric = meta.get("target_metric_name")
    goals = []
    for split, key in _TARGETS.items():
        target = meta.get(key)
        if isinstance(target, (int, float)) and math.isfinite(target) and isinstance(metric, str):
            goals.append(LoggedGoal(f"{split}/{metric}", float(target), f"AlgoPerf, {key}"))
    return goals


def _is_of_trial(path: str) -> bool:
    return _TRIAL.fullmatch(path.rpartition("/")[0].rpartition("/")[2]) is not None


def _is_wanted(path: str) -> bool:
    name = path.rpartition("/")[2]
    is_json = any(pattern.fullmatch(name) for pattern in (_HYPERPARAMETERS, _META, _FLAGS))
    return _is_of_trial(path) and (is_json or name in (ALL, EVALUATIONS))


FORMAT = AlgoPerf()
