"""The content of a live page: the run, its choices, and the addresses of its stream and figures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from losslake.questions.release.view import ReleaseView
from losslake_contributions.live.stored_trials import Candidate, drawn_curves
from losslake_contributions.live.subject import Subject
from losslake_contributions.live.watching import Overview
from losslake_contributions.people.links import LIVE
from losslake_contributions.store.tables import Link
from losslake_schema.quantities import counted
from losslake_service.web.goals import PageGoal
from losslake_service.web.templates import with_query

_POINTS = 100


def content_of(
    token: str,
    link: Link,
    overview: Overview,
    subject: Subject,
    event: Mapping[str, Any],
    view: ReleaseView | None,
) -> dict[str, Any]:
    """Return the content of the page. event: the data of the first event, for readers without scripts."""
    run, here = overview.state.facts, f"{LIVE}/{token}"
    name = f"{run.collection}/{run.dataset}/{run.model}/{run.optimizer}"
    goal, candidate = subject.goal, subject.candidate
    curves = scaling = None
    if candidate is not None and view is not None and subject.sizes:
        curves = _curves(here, subject, candidate, view)
        scaling = _scaling(here, goal, candidate, view) if goal is not None else None
    return {
        "heading": f"Live: {run.dataset}, {run.model}, batch size {run.batch_sizes}",
        "run": run,
        "workload": name,
        "path": here,
        "event": event,
        "subject": subject,
        "goals": [(repr(each.target), each.text) for each in subject.goals],
        "candidates": [(str(each.workload), each.nearness) for each in subject.candidates],
        "curves": curves,
        "frame": f"{here}/figures/curves.vl.json",
        "scaling": scaling,
        "release": view.number if view is not None else None,
        "expires": link.expires_at,
        "about": json.dumps(_about(here, subject, run.batch_size)),
    }


def _about(here: str, subject: Subject, batch_size: int | None) -> dict[str, Any]:
    """Return what the script of the page knows of it."""
    goal, candidate = subject.goal, subject.candidate
    chosen = [
        ("metric", subject.metric),
        ("target", None if goal is None else repr(goal.target)),
        ("workload", None if candidate is None else candidate.workload),
    ]
    return {
        "events": with_query(f"{here}/events", chosen),
        "metric": subject.metric,
        "batchSize": batch_size,
        "goal": goal and goal.for_scripts,
    }


def _curves(here: str, subject: Subject, candidate: Candidate, view: ReleaseView) -> dict[str, str]:
    """Return the address and the texts of the figure of curves."""
    drawn, n, n_stored = drawn_curves(candidate.facts, subject.sizes)
    goal = subject.goal
    query = [
        *drawn,
        ("metric", subject.metric),
        ("points", _POINTS),
        ("colour_by", "status" if len(subject.sizes) == 1 else "study"),
        ("target", None if goal is None else repr(goal.target)),
        ("release", view.number),
    ]
    trials = counted(n_stored, "trial")
    who = f"{n:,} of {trials}" if n < n_stored else trials
    sizes = " and ".join(f"{size:,}" for size in subject.sizes)
    about = f"This run over {who} of {candidate.workload} at batch size {sizes}."
    return {"address": with_query(f"{here}/v1/figures/curves.vl.json", query), "about": about}


def _scaling(here: str, goal: PageGoal, candidate: Candidate, view: ReleaseView) -> dict[str, str]:
    """Return the address and the texts of the figure of steps by batch size, and the address of its numbers."""
    query = [
        ("workload", candidate.workload),
        ("metric", goal.metric),
        ("target", repr(goal.target)),
        ("comparator", goal.comparator),
        ("direction", goal.direction),
        ("release", view.number),
    ]
    return {
        "address": with_query(f"{here}/v1/figures/scaling.vl.json", query),
        "numbers": with_query(f"{here}/v1/scaling.csv", query),
        "title": f"Steps to {goal.text}",
        "about": f"This run over the fewest steps of {candidate.workload} by batch size.",
    }
