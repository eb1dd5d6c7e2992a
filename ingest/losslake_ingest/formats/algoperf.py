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
from itertools import groupby

import numpy as np

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import NO_MEMORY, Refusal, Rule
from losslake_ingest.contracts.run_log import Damage, LoggedGoal, LoggedRows, RunLog, Scalar, remarks_in
from losslake_ingest.formats.format import BundledFormat, Glimpse
from losslake_ingest.mapping.evaluations import not_a_number
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.readers.safe_parsing import read_python_json
from losslake_ingest.readers.tables.csv_table import read_csv
from losslake_ingest.sources.member import LARGEST_FILE, Refused, Source, UntilBreak

ALL, EVALUATIONS = "measurements.csv", "eval_measurements.csv"
STEP, SCORE = "global_step", "score"
LARGEST_JSON = 1 << 20
_TRIAL = re.compile(r"trial_[0-9]+")
_HYPERPARAMETERS = re.compile(r"hparams[^/]*\.json")
_META = re.compile(r"meta_data_[0-9]+\.json")
_FLAGS = re.compile(r"flags_[0-9]+\.json")
_MACHINE = ("gpu_count", "gpu_model_name")
_STORED_FLAGS = ("workload", "framework", "tuning_ruleset", "num_tuning_trials", "rng_seed", "max_global_steps")
_FOLDER = re.compile(r"(?:.*/)?(?P<workload>[^/]+?)(?:_(?P<framework>jax|pytorch))?/trial_[0-9]+")


class AlgoPerf(BundledFormat):
    """The format of AlgoPerf: one run per trial folder, with targets and metaparameters from its JSON files."""

    name = "algoperf"

    def detect(self, file: Glimpse) -> float:
        """Recognize a trial's CSV by its header and its metadata file by its content."""
        if not _is_of_trial(file.path):
            return 0.0
        if file.name in (ALL, EVALUATIONS) and STEP.encode() in file.start.partition(b"\n")[0]:
            return 1.0
        return 1.0 if _META.fullmatch(file.name) and b'"workload.' in file.start else 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """Yield one run per trial folder."""
        seen: set[str] = set()
        members = UntilBreak(source.members(_is_wanted))
        for folder, files in groupby(members, lambda member: member.path.rpartition("/")[0]):
            trial, is_first = _TrialFiles(folder), folder not in seen
            for member in files:
                if isinstance(member, Refused):
                    yield Quarantined(source.name, member.path, member.rule, member.message)
                elif not is_first:
                    message = "its trial's other files are elsewhere in the archive: sort the archive by path"
                    yield Quarantined(source.name, member.path, Rule.DUPLICATE_FILE, message)
                else:
                    seen.add(folder)
                    if not trial.add(member.path.rpartition("/")[2], member.data):
                        message = f"its trial's files have more than {LARGEST_FILE:,} bytes: remove what isn't needed"
                        yield Quarantined(source.name, member.path, Rule.FILE_TOO_LARGE, message)
                del member
            if is_first and folder in seen:
                yield trial.run(source.name)
        members.raise_break()


@dataclass
class _TrialFiles:
    """The files in one trial's folder, by name, and their SHA-256 by path."""

    folder: str
    files: dict[str, bytes] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, data: bytes) -> bool:
        """Add a file, without its bytes if it is a JSON file that is too large; return False if memory is exceeded."""
        if sum(map(len, self.files.values())) + len(data) > LARGEST_FILE:
            return False
        self.digests[f"{self.folder}/{name}"] = hashlib.sha256(data).hexdigest()
        self.files[name] = data if name in (ALL, EVALUATIONS) or len(data) <= LARGEST_JSON else b""
        return True

    def run(self, source: str) -> RunLog | Quarantined:
        """Return the trial's run, or why it can't be read."""
        if ALL not in self.files and EVALUATIONS not in self.files:
            message = f"neither {ALL} nor {EVALUATIONS} exists: the trial was never evaluated"
            return Quarantined(source, self.folder, Rule.MISSING_FILE, message)
        remarks: Counter[str] = Counter()
        tables: dict[str, LoggedRows] = {}
        for name in (EVALUATIONS, ALL):
            try:
                if name in self.files:
                    tables[name] = _table(self.files[name], name, remarks)
            except Refusal as fault:
                return Quarantined(source, f"{self.folder}/{name}", fault.rule, fault.message, fault.line)
            except MemoryError:
                return Quarantined(source, f"{self.folder}/{name}", Rule.FILE_TOO_LARGE, NO_MEMORY)
        hyperparameters = self._json(_HYPERPARAMETERS, remarks)
        stated = self._json(_META, remarks)
        meta = {key.removeprefix("workload."): value for key, value in stated.items() if key.startswith("workload.")}
        machine = {key: stated[key] for key in _MACHINE if key in stated}
        flags = {key: value for key, value in self._json(_FLAGS, remarks).items() if key in _STORED_FLAGS}
        path = _FOLDER.fullmatch(self.folder)
        in_path = {key: value for key, value in path.groupdict().items() if value} if path else {}
        return RunLog(
            run=self.folder,
            files=self.digests,
            rows=_rows(tables, remarks),
            fields={**hyperparameters, **meta, **machine, **in_path, **flags},
            parameters=hyperparameters,
            goals=_goals(meta),
            remarks=dict(remarks),
        )

    def _json(self, name: re.Pattern[str], remarks: Counter[str]) -> dict[str, Scalar]:
        """Return the scalars of the JSON files with that name pattern; later files override earlier ones."""
        scalars: dict[str, Scalar] = {}
        for file in sorted(file for file in self.files if name.fullmatch(file)):
            document = read_python_json(self.files[file])
            if isinstance(document, dict):
                scalars |= {key: value for key, value in document.items() if isinstance(value, Scalar)}
            else:
                remarks[Damage(f"JSON file that can't be read: skipped (in {file})")] = 1
        return scalars


def _table(data: bytes, name: str, remarks: Counter[str]) -> LoggedRows:
    """Parse the numbers of a CSV. Raises Refusal."""
    table = read_csv(data)
    for column in table.numbers:
        text = table.first_text(column)
        if text is not None:
            raise not_a_number(column, text)
    remarks.update(remarks_in(table.remarks, name))
    return LoggedRows.of({name: (numbers.values, numbers.missing) for name, numbers in table.numbers.items()})


def _rows(tables: Mapping[str, LoggedRows], remarks: Counter[str]) -> list[LoggedRows]:
    """Return the rows of the curve. If both files have an evaluation, eval_measurements.csv is used.

    A restarted harness rewrites measurements.csv with pandas, which loses the last digit of some values.
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
    return [everything.at(np.flatnonzero(~in_both)), evaluations]


def _goals(meta: Mapping[str, Scalar]) -> list[LoggedGoal]:
    """Return the workload's validation and test targets. AlgoPerf counts equality as reached."""
    metric = meta.get("target_metric_name")
    goals = []
    for split, key in {"validation": "validation_target_value", "test": "test_target_value"}.items():
        target = meta.get(key)
        if isinstance(target, (int, float)) and math.isfinite(target) and isinstance(metric, str):
            goals.append(LoggedGoal(f"{split}/{metric}", float(target), f"AlgoPerf, {key}", "inclusive"))
    return goals


def _is_of_trial(path: str) -> bool:
    return _TRIAL.fullmatch(path.rpartition("/")[0].rpartition("/")[2]) is not None


def _is_wanted(path: str) -> bool:
    name = path.rpartition("/")[2]
    is_json = any(pattern.fullmatch(name) for pattern in (_HYPERPARAMETERS, _META, _FLAGS))
    return _is_of_trial(path) and (is_json or name in (ALL, EVALUATIONS))


FORMAT = AlgoPerf()
