"""Conversion of all event files of a folder to one run."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_ingest.contracts.run_log import LoggedRows, RunLog, Scalar, remarks_in
from losslake_ingest.mapping.steps import are_counted_from_0
from losslake_ingest.readers.event_files.events import Session, text
from losslake_ingest.readers.event_files.file import LARGEST_TAGS, NO_PARAMETER, NO_SCALAR, SCALARS, EventFile, in_order
from losslake_ingest.readers.event_files.layouts import Points
from losslake_schema.reached import Integers

WRITTEN_TWICE = "a tag was written more than once for a step: the last value is used"
NAMED_LIKE_AN_AXIS = "a tag has the name of an axis, step or wall_time: left out"
_STAMP = re.compile(r"tfevents\.(\d{1,18})")


@dataclass(frozen=True)
class ReadFile:
    """An event file that was read, with its path in the source."""

    path: str
    sha256: str
    events: EventFile

    @property
    def order(self) -> tuple[float, float, str]:
        """A sort key: the start time in the file's name, else the time of the first event."""
        begun = self.events.first_wall_time
        first = begun if begun is not None and math.isfinite(begun) else 0.0
        stamp = _STAMP.search(self.path.rpartition("/")[2])
        return (float(stamp[1]) if stamp else first, first, self.path)


def session_of(files: Sequence[ReadFile]) -> Session:
    """Merge the sessions of a run's files, in order of the files."""
    whole = Session()
    for file in sorted(files, key=lambda file: file.order):
        part = file.events.session
        whole.parameters |= part.parameters
        whole.group = part.group or whole.group
        whole.status = part.status if part.is_known else part.status or whole.status
        whole.has_addresses |= part.has_addresses
        whole.unread += part.unread
        whole.is_known |= part.is_known
    return whole


def run_log(run: str, files: Sequence[ReadFile], above: Session, session: Session) -> RunLog:
    """Return the log of a run. above: the session of the nearest folder above with one. Raises Refusal."""
    ordered = sorted(files, key=lambda file: file.order)
    remarks: Counter[str] = Counter()
    for file in ordered:
        noted = file.events.remarks
        remarks.update(remarks_in(noted, file.path) if len(ordered) > 1 else noted)
    remarks[NO_PARAMETER] += session.unread
    rows = list(_rows([file.events for file in ordered], remarks))
    if not rows:
        raise _no_scalars(ordered)
    parameters: dict[str, Scalar] = {**above.parameters, **session.parameters}
    fields = dict(parameters)
    group = session.group or above.group
    if group:
        fields.setdefault("group_name", group)
    epochs = {tag: each.columns["step"] for each in rows for tag in each.columns if tag.startswith("epoch_")}
    doubtful = [tag for tag, steps in epochs.items() if not are_counted_from_0(steps)]
    starts = [file.events.first_wall_time for file in ordered if file.events.first_wall_time is not None]
    return RunLog(
        run=run,
        files={file.path: file.sha256 for file in sorted(files, key=lambda file: file.path)},
        rows=rows,
        fields=fields,
        parameters=parameters,
        status=session.status if session.is_known else session.status or above.status,
        started_at=starts[0] if starts and math.isfinite(starts[0]) else None,
        private=("addresses",) if session.has_addresses else (),
        remarks={remark: count for remark, count in remarks.items() if count},
        guessed={} if doubtful or not epochs else {"epoch_offset": 1, "epoch_last_batch": "kept"},
        doubtful_epochs=doubtful,
    )


def _no_scalars(files: Sequence[ReadFile]) -> Refusal:
    """Return the reason why a run has no scalars."""
    for file in files:
        if file.events.has_too_many_tags:
            return Refusal(Rule.UNREADABLE_LOG, f"{file.path} has more than {LARGEST_TAGS:,} tags: split the run")
    for file in files:
        if file.events.damage_at is not None:
            message = f"{file.path} is damaged at byte {file.events.damage_at:,}, before any scalar: copy it again"
            return Refusal(Rule.DAMAGED_FILE, message)
    return Refusal(Rule.NO_MEASUREMENTS, "its event files contain no scalars")


def _rows(files: Sequence[EventFile], remarks: Counter[str]) -> Iterator[LoggedRows]:
    """Yield the scalars of a run by tag, sorted by tag, with files in the order written."""
    if any(file.has_too_many_tags for file in files):
        return
    plugins: dict[bytes, bytes] = {}
    for file in files:
        plugins = file.plugins | plugins
    for tag in sorted({tag for file in files for tag in (*file.scalars, *file.bare)}):
        parts = [in_order(pieces) for file in files if (pieces := _points(file, tag, plugins, remarks))]
        if not parts:
            continue
        name = text(tag)
        if name in ("step", "wall_time"):
            remarks[NAMED_LIKE_AN_AXIS] += 1
            continue
        points = parts[0] if len(parts) == 1 else np.concatenate(parts)
        remarks[WRITTEN_TWICE] += _repeated(points["step"])
        columns = {"step": points["step"], "wall_time": points["wall_time"], name: points["value"]}
        yield LoggedRows({column: numbers.astype(np.float64) for column, numbers in columns.items()})


def _points(file: EventFile, tag: bytes, plugins: Mapping[bytes, bytes], remarks: Counter[str]) -> list[Points]:
    """Return the points of a tag. A tensor without a plugin gets the plugin of the tag's first value."""
    scalars = file.scalars.get(tag, [])
    bare = file.bare.get(tag, [])
    if plugins.get(tag, SCALARS) == SCALARS:
        return scalars + bare
    remarks[NO_SCALAR] += sum(map(len, bare))
    return scalars


def _repeated(steps: Integers) -> int:
    """Return the number of steps that occur more than once."""
    if np.all(steps[1:] > steps[:-1]):
        return 0
    return int((np.unique(steps, return_counts=True)[1] > 1).sum())
