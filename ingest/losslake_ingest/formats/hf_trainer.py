"""Hugging Face Trainer: the `trainer_state.json` of a run and of its checkpoints.

Every checkpoint repeats the history of its run so far: `<run>/checkpoint-500/trainer_state.json`,
`<run>/checkpoint-1000/…`, and `<run>/trainer_state.json` at the end. The longest history is the run's.
Source: transformers, `Trainer._save_checkpoint` in src/transformers/trainer.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from losslake_ingest.formats.defaults_of import defaults_of
from losslake_ingest.formats.format import Glimpse
from losslake_ingest.formats.hf_trainer_state import LARGEST_STATE, BadState, State, parse_state
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.report import Quarantined
from losslake_ingest.rules import Rule
from losslake_ingest.run_log import RunLog
from losslake_ingest.sources.member import Member, Refused, Source
from losslake_ingest.sources.until_break import UntilBreak

LARGEST_PENDING = 64 * 2**20
_FILE = "trainer_state.json"
_CHECKPOINT = re.compile(r"checkpoint-\d+")
_SHORTER = "shorter history of the same run passed over"
_DIFFERENT = "shorter history of the same run is not how the longest begins: the run was restarted differently"


class HuggingFaceTrainer:
    """Runs of the Hugging Face Trainer."""

    name = "hf_trainer"
    reads = "trainer_state.json of the Hugging Face Trainer and its checkpoints"
    needs = "collection, dataset, model, optimizer, and batch_size: the file knows the batch of one process only"
    defaults = defaults_of("hf_trainer")

    def detect(self, file: Glimpse) -> float:
        """How surely this is a trainer state."""
        if b'"log_history"' in file.start and file.start.lstrip().startswith(b"{"):
            return 0.95
        return 0.5 if file.name == _FILE else 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """One run per folder that holds a trainer_state.json or checkpoints with one."""
        return _Reader(source).read()


class _Reader:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._pending: dict[str, list[State]] = {}
        self._size = 0
        self._handed_on: set[str] = set()

    def read(self) -> Iterator[RunLog | Quarantined]:
        members = UntilBreak(self._source.members(lambda path: path.rpartition("/")[2] == _FILE))
        for member in members:
            refusal = self._take(member)
            if refusal:
                yield refusal
            if self._size > LARGEST_PENDING:
                yield from self._hand_on(f"{_run_of(member.path)}/")
        yield from self._hand_on()
        members.tell()

    def _take(self, member: Member | Refused) -> Quarantined | None:
        """Keep a file's state until its run is whole."""
        if isinstance(member, Refused):
            return self._quarantined(member.path, member.rule, member.message)
        run = _run_of(member.path)
        if run in self._handed_on:
            message = "it lies apart from its run's other files, which are read already: sort the archive by path"
            return self._quarantined(member.path, Rule.DUPLICATE_FILE, message)
        if len(member.data) > LARGEST_STATE:
            message = f"{len(member.data):,} bytes; at most {LARGEST_STATE:,} are read of a {_FILE}"
            return self._quarantined(member.path, Rule.FILE_TOO_LARGE, message)
        try:
            state = parse_state(member.path, member.data)
        except BadState as error:
            return self._quarantined(member.path, Rule.UNREADABLE_LOG, str(error), error.line)
        self._pending.setdefault(run, []).append(state)
        self._size += state.size
        return None

    def _hand_on(self, current: str | None = None) -> Iterator[RunLog | Quarantined]:
        """The runs that are pending, in order of path; not those that the current path may still belong to."""
        for run in sorted(self._pending):
            if current is not None and (run == "." or current.startswith(f"{run}/")):
                continue
            states = self._pending.pop(run)
            self._handed_on.add(run)
            self._size -= sum(state.size for state in states)
            yield self._told(run, states)

    def _told(self, run: str, states: list[State]) -> RunLog | Quarantined:
        best = min(states, key=_preference)
        if not best.rows.columns:
            return self._quarantined(best.path, Rule.NO_MEASUREMENTS, "log_history is empty: nothing was logged")
        remarks = Counter(best.remarks)
        for state in states:
            if state is not best:
                remarks[_SHORTER] += 1
                if not state.begins(best):
                    remarks[_DIFFERENT] += 1
        return RunLog(
            run=run,
            files={state.path: state.sha256 for state in sorted(states, key=lambda state: state.path)},
            rows=[best.rows],
            fields=best.fields,
            parameters=best.parameters,
            status="finished" if best.is_finished else "stopped",
            private=best.private,
            remarks=dict(remarks),
        )

    def _quarantined(self, path: str, rule: Rule, message: str, line: int | None = None) -> Quarantined:
        return Quarantined(self._source.name, path, rule, message, line)


def _run_of(path: str) -> str:
    """The folder that holds a run's checkpoints."""
    folder = path.rpartition("/")[0]
    above, _, last = folder.rpartition("/")
    return (above if _CHECKPOINT.fullmatch(last) else folder) or "."


def _preference(state: State) -> tuple[int, int, bool, str]:
    """The longest history comes first, then the one that got furthest, then the one of no checkpoint."""
    folder = state.path.rpartition("/")[0].rpartition("/")[2]
    return -len(state.entries), -state.global_step, bool(_CHECKPOINT.fullmatch(folder)), state.path


FORMAT = HuggingFaceTrainer()
