"""Live runs that diverged: the last values of their goal's metric, or of their training loss, are NaN or infinite.

It is looked at every few seconds, for contributors who want to be told, in what was sent last of each run: the intake
of measurements does nothing for it.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from functools import partial

import orjson
from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from losslake.record.layout import STEP
from losslake.record.numbers import json_number, number
from losslake_contributions.intake.segments import lines_of
from losslake_contributions.notifications.outbox import notify
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Channel, Contribution, Delivery, OpenSegment

N_VALUES = 3
TRAINING_LOSSES = ("train/loss", "loss")
_RECENT = timedelta(minutes=2)
_BYTES = 65_536  # at the end of the run's last segment
_MOST_RUNS = 500


def notify_diverged(database: Database) -> int:
    """Have contributors told of their live runs that have diverged since the last call; return the number of runs."""
    event = Delivery.event == "diverged"
    is_told = exists().where(event, Delivery.subject == Contribution.id)
    wants = exists().where(
        Channel.contributor == Contribution.contributor,
        Channel.confirmed_at.is_not(None),
        Channel.events.contains("diverged"),
    )
    is_live = Contribution.end.is_(None), Contribution.seen_at > datetime.now(UTC) - _RECENT
    live = select(Contribution.id, Contribution.contributor).where(*is_live, wants, ~is_told)
    rows = database.read(lambda session: session.execute(live.limit(_MOST_RUNS)).all())
    n_diverged = 0
    for run, contributor in rows:
        why = database.read(partial(_reason, run=run))
        if why is not None:
            database.write(contributor, lambda session: notify(session, contributor, "diverged", run, detail=why))  # noqa: B023 - called here
            n_diverged += 1
    return n_diverged


def _reason(session: Session, run: str) -> str | None:
    """Return why a run has diverged; None if it hasn't, as far as its last lines show."""
    row = session.get(Contribution, run)
    last = select(OpenSegment).where(OpenSegment.contribution == run)
    segment = session.scalar(last.order_by(OpenSegment.attempt.desc(), OpenSegment.n.desc()).limit(1))
    if row is None or segment is None:
        return None
    start = max(0, segment.bytes - _BYTES)
    lines = lines_of(session, run, segment.attempt, segment.n, start)
    if b"NaN" not in lines and b"Infinity" not in lines:
        return None
    goals = orjson.loads(row.facts).get("goals") or ()
    return reason_of_divergence(lines, [*(goal["metric"] for goal in goals), *TRAINING_LOSSES])


def reason_of_divergence(lines: bytes, metrics: list[str]) -> str | None:
    """Return which metric's last three values are NaN or infinite, in JSON lines; None if none's are.

    The first line may be cut. Lines that the recorder doesn't write are left out.
    """
    last: dict[str, list[float]] = {metric: [] for metric in metrics}
    steps: dict[str, int] = {}
    for line in reversed(lines.split(b"\n")):
        try:
            cells = orjson.loads(line)
        except ValueError:
            continue
        if not isinstance(cells, dict) or not isinstance(cells.get(STEP), int):
            continue
        for metric, values in last.items():
            value = number(cells.get(metric))
            if value is not None and len(values) < N_VALUES:
                values.append(value)
                steps.setdefault(metric, cells[STEP])
    for metric, values in last.items():
        if len(values) == N_VALUES and not any(map(math.isfinite, values)):
            words = ", ".join(str(json_number(value)) for value in reversed(values))
            return f"the last {N_VALUES} values of {metric} are {words}, the last one at step {steps[metric]:,}"
    return None
