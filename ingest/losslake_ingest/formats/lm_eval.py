"""Results of EleutherAI's Language Model Evaluation Harness: a JSON document per checkpoint, a folder per run.

Source: EleutherAI/lm-evaluation-harness, `simple_evaluate` in lm_eval/evaluator.py. A result has no step: the name of
its file or the revision in `model_args` states it, as in EleutherAI/pythia.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import NO_MEMORY, Refusal, Rule, shown
from losslake_ingest.contracts.run_log import LoggedRows, RunLog, check_size
from losslake_ingest.formats.format import BundledFormat, Glimpse
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.readers.safe_parsing import number_column, printable, read_document
from losslake_ingest.readers.tables.cells import LARGEST_COLUMNS
from losslake_ingest.sources.member import Member, Refused, Source, UntilBreak

STEP, SHOTS = "step", "num_fewshot"
_RESULTS = re.compile(rb'\s*\{\s*"results"\s*:\s*\{\s*"[^"\n]{1,200}"\s*:\s*\{\s*"[^"\n]{1,200}"\s*:\s*[-0-9"NI]')
_STEP_IN_NAME = re.compile(r"step[-_]?([0-9]{1,15})(?![0-9])")
_STEP_IN_REVISION = re.compile(r"(?:^|,)revision=step[-_]?([0-9]{1,15})(?:,|$)")
_ERROR = re.compile(r"_stderr(,|$)")


class LmEval(BundledFormat):
    """The format of the evaluation harness: the documents of a folder are the checkpoints of one run."""

    name = "lm_eval"

    def detect(self, file: Glimpse) -> float:
        """Recognize a document by its results."""
        return 0.8 if _is_json(file.path) and _RESULTS.match(file.start) else 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """Yield one run per folder."""
        seen: set[str] = set()
        members = UntilBreak(source.members(_is_json))
        for folder, files in groupby(members, lambda member: member.path.rpartition("/")[0]):
            run, is_first = _Checkpoints(folder), folder not in seen
            seen.add(folder)
            for member in files:
                try:
                    if isinstance(member, Refused):
                        raise Refusal(member.rule, member.message)
                    if not is_first:
                        message = "its folder's other files are elsewhere in the archive: sort the archive by path"
                        raise Refusal(Rule.DUPLICATE_FILE, message)
                    run.add(member)
                except Refusal as fault:
                    yield Quarantined(source.name, member.path, fault.rule, fault.message)
                except MemoryError:
                    yield Quarantined(source.name, member.path, Rule.FILE_TOO_LARGE, NO_MEMORY)
                del member
            if run.digests:
                yield run.log()
        members.raise_break()


@dataclass
class _Checkpoints:
    """The checkpoints in a folder.

    columns: by `task.measure`, the value by place in steps. shots: the examples in the prompt, the same of all.
    """

    folder: str
    digests: dict[str, str] = field(default_factory=dict)
    steps: list[float] = field(default_factory=list)
    columns: dict[str, dict[int, float]] = field(default_factory=dict)
    shots: int | None = None

    def add(self, member: Member) -> None:
        """Add a document; another one than results is left alone. Raises Refusal."""
        if not _RESULTS.match(member.data[:4096]):
            return
        document = read_document(member.data)
        config = document.get("config")
        config = config if isinstance(config, dict) else {}
        step = _step(member.path.rpartition("/")[2], str(config.get("model_args", "")))
        shots = config.get(SHOTS)
        if self.digests and shots != self.shots:
            message = f"it states {SHOTS} {shown(shots)}, and the first file of its folder {shown(self.shots)}"
            raise Refusal(Rule.FACTS_DISAGREE, f"{message}: give each a folder of its own")
        values = dict(_values(document["results"]))
        names = self.columns.keys() | values.keys()
        check_size(len(self.steps) + 1, len(names) + 1)
        if len(names) > LARGEST_COLUMNS:
            raise Refusal(Rule.UNREADABLE_LOG, f"its folder has {len(names):,} measures; at most {LARGEST_COLUMNS:,}")
        for name, value in values.items():
            self.columns.setdefault(name, {})[len(self.steps)] = value
        self.shots = shots if isinstance(shots, int) else None
        self.steps.append(step)
        self.digests[member.path] = hashlib.sha256(member.data).hexdigest()

    def log(self) -> RunLog:
        """Return the run, whose rows are in the order of the steps."""
        places = sorted(range(len(self.steps)), key=self.steps.__getitem__)
        columns = {
            name: number_column([values.get(place) for place in places], len(values) < len(places))
            for name, values in self.columns.items()
        }
        rows = LoggedRows.of({STEP: number_column([self.steps[place] for place in places], False)} | columns)
        fields = {} if self.shots is None else {SHOTS: self.shots}
        return RunLog(self.folder, self.digests, [rows], fields)


def _step(name: str, arguments: str) -> float:
    """Return the step that the name of a file or the revision of its model states. Raises Refusal."""
    in_name, revision = _STEP_IN_NAME.findall(name), _STEP_IN_REVISION.search(arguments)
    stated = {*in_name[-1:], *([revision[1]] if revision else [])}
    if not stated:
        message = "neither its name nor the revision in model_args states a step, as in step1000"
        raise Refusal(Rule.STEP_UNKNOWN, message)
    if len(set(map(int, stated))) > 1:
        message = f"its name and the revision in model_args state steps {' and '.join(sorted(stated))}"
        raise Refusal(Rule.STEP_DOUBTFUL, message)
    return float(stated.pop())


def _values(results: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the measures of each task, without their standard errors and the name of no filter."""
    for task, measures in results.items():
        for name, value in measures.items() if isinstance(measures, dict) else ():
            if type(value) in (int, float) and not _ERROR.search(name):
                yield printable(f"{task}.{name.removesuffix(',none')}"), value


def _is_json(path: str) -> bool:
    return path.lower().endswith(".json")


FORMAT = LmEval()
