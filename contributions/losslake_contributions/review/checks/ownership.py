"""Rules about collections that are stored already: whose they are, and what runs state otherwise about them.

Whatever runs state, accepting them changes nothing that is stored of a collection: see `stored_facts_stay`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from losslake.questions.release.view import ReleaseView
from losslake_contributions.review.checks.evidence import Evidence
from losslake_contributions.review.checks.rules import Finding, finding
from losslake_contributions.review.draft import workload_of
from losslake_contributions.review.queries import query
from losslake_ingest.readers.recorded.folder import Spool

_MOST_NAMED = 3


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings about stored collections, one for each collection and fact."""
    view = evidence.stored
    if view is None:
        return
    of_collection: dict[str, list[Spool]] = {}
    for spool in evidence.spools.values():
        of_collection.setdefault(str(spool.facts.get("collection")), []).append(spool)
    for row in query(view, "stored_collections", {"collections": [*of_collection]}).to_pylist():
        collection, licence = row["collection"], row["licence"]
        spools = of_collection[collection]
        if evidence.own_submissions is not None:
            yield from _ownership(view, collection, row["n_trials"], len(spools), evidence.own_submissions)
        for stated in sorted({spool.licence or evidence.licence for spool in spools} - {licence, ""}):
            advice = "ask for another collection, unless the contributor agrees to that licence"
            message = f"the runs say {stated}, and the collection has {licence!r}, which stays: {advice}"
            yield finding("collection_facts", "", f"{collection}, licence", message)
        for where, difference in dict.fromkeys(_goals(view, spools)):
            yield finding("collection_facts", "", where, f"{difference}: accept the runs only if that is right")
        for name, message in _directions(view, spools):
            yield finding("collection_facts", "", f"{collection}, {name}", message)


def _ownership(
    view: ReleaseView, collection: str, n_stored: int, n_runs: int, submissions: frozenset[str]
) -> Iterator[Finding]:
    """Yield the finding about trials that others have sent. submissions: of the contributor."""
    of_sender: set[tuple[object, ...]] = set()
    others: Counter[str] = Counter()
    for row in query(view, "senders_of_trials", {"collection": collection}).to_pylist():
        *trial, name, submission = row.values()
        if submission in submissions:
            of_sender.add(tuple(trial))
        else:
            others[name] += 1
    n_others = n_stored - len(of_sender)
    if not n_others:
        return
    names = [name for name, _ in others.most_common(_MOST_NAMED)]
    more = f" and {len(others) - len(names):,} more" if len(others) > len(names) else ""
    whose = f"by {', '.join(names)}{more}" if names else "without a contributor"
    message = (
        f"{n_runs:,} runs would be added to it, and {n_others:,} of its {n_stored:,} stored trials weren't sent by"
    )
    advice = "accept them if they belong there, or ask for a collection of their own"
    yield finding("others_collection", "", collection, f"{message} this contributor, but are {whose}: {advice}")


def _goals(view: ReleaseView, spools: Sequence[Spool]) -> Iterator[tuple[str, str]]:
    """Yield the goals that runs of stored workloads state otherwise, or in addition, each with the difference."""
    for spool in spools:
        workload, stated = workload_of(spool), spool.facts.get("goals")
        for goal in stated if isinstance(stated, list) and workload in view.workloads else ():
            if not isinstance(goal, dict) or not isinstance(goal.get("target"), int | float):
                continue
            metric, target = str(goal.get("metric")), float(goal["target"])
            stored = next((each for each in view.goals_of(workload, metric) if each.target == target), None)
            where = f"{workload}, {metric} {target:g}"
            if stored is None:
                yield where, "it would be a new goal of the workload"
            elif any(goal.get(key) not in (None, getattr(stored, key)) for key in ("comparator", "source")):
                yield where, f"its stored comparator {stored.comparator} and source {stored.source!r} stay"


def _directions(view: ReleaseView, spools: Sequence[Spool]) -> Iterator[tuple[str, str]]:
    """Yield the measured metrics whose direction runs state otherwise, each with a message."""
    directions: set[tuple[str, str]] = set()
    for spool in spools:
        stated = spool.facts.get("directions")
        directions |= {(str(name), str(way)) for name, way in stated.items()} if isinstance(stated, dict) else set()
    for name, direction in sorted(directions):
        stored = view.metrics.get(name)
        is_measured = any(name in facts.measured for facts in view.workloads.values())
        if stored is not None and is_measured and stored.direction != direction:
            advice = "ask for another name of the metric, or accept the runs as they are"
            yield name, f"the runs say {direction}, and the lake {stored.direction or 'nothing'}, which stays: {advice}"
