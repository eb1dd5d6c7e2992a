"""Rules about collections that are stored already: whose they are, and what runs state otherwise about them.

Whatever runs state, accepting them changes nothing that is stored of a collection: see `stored_facts_stay`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from losslake_contributions.review.checks.evidence import Evidence
from losslake_contributions.review.checks.rules import WARNING, Finding, Rule
from losslake_ingest.readers.recorded.folder import Spool
from losslake_schema.names import Workload
from losslake_schema.tables import STUDY_KEYS

OTHERS = Rule(
    "others_collection",
    WARNING,
    "the collection is new, or all of its stored trials were sent by the same contributor",
    needs_base=True,
)
FACTS = Rule(
    "collection_facts",
    WARNING,
    "what runs state about a stored collection is what is stored: licence, goals, directions of metrics",
    needs_base=True,
)
RULES = (OTHERS, FACTS)

_MOST_NAMED = 3


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings about stored collections, one for each collection and fact."""
    trials = evidence.stored_trials
    if trials is None:
        return
    of_collection: dict[str, list[Spool]] = {}
    for spool in evidence.spools.values():
        of_collection.setdefault(str(spool.facts.get("collection")), []).append(spool)
    licences = {row["collection"]: row["licence"] for row in evidence.stored_rows("collections")}
    for collection, spools in sorted(of_collection.items()):
        if collection not in licences:
            continue
        if evidence.own_submissions is not None:
            yield from _ownership(evidence, trials, collection, len(spools), evidence.own_submissions)
        yield from _licence(evidence, collection, spools, licences[collection])
        yield from _goals(evidence, collection, spools)
        yield from _directions(evidence, collection, spools)


def _ownership(
    evidence: Evidence, trials: pa.Table, collection: str, n_runs: int, submissions: frozenset[str]
) -> Iterator[Finding]:
    total = trials.filter(pc.equal(trials["collection"], collection)).num_rows
    of_sender: set[tuple[object, ...]] = set()
    others: Counter[str] = Counter()
    for row in evidence.stored_rows("contributors"):
        if row["collection"] == collection:
            if row["contribution"] in submissions:
                of_sender.add(tuple(row[key] for key in (*STUDY_KEYS, "trial_id")))
            else:
                others[row["name"]] += 1
    if len(of_sender) == total:
        return
    names = [name for name, _ in others.most_common(_MOST_NAMED)]
    more = f" and {len(others) - len(names):,} more" if len(others) > len(names) else ""
    whose = f"by {', '.join(names)}{more}" if names else "without a contributor"
    yield OTHERS.finding(
        "",
        collection,
        f"{n_runs:,} runs would be added to it, and {total - len(of_sender):,} of its {total:,} stored trials weren't "
        f"sent by this contributor, but are {whose}: accept them if they belong there, or ask for a collection of "
        "their own",
    )


def _licence(evidence: Evidence, collection: str, spools: Sequence[Spool], stored: str) -> Iterator[Finding]:
    for stated in sorted({spool.licence or evidence.licence for spool in spools} - {stored, ""}):
        yield FACTS.finding(
            "",
            f"{collection}, licence",
            f"the runs say {stated}, and the collection has {stored!r}, which stays: ask for another collection, "
            "unless the contributor agrees to that licence",
        )


def _goals(evidence: Evidence, collection: str, spools: Sequence[Spool]) -> Iterator[Finding]:
    stored: dict[tuple[Workload, str, float], Mapping[str, object]] = {
        (Workload(*(row[key] for key in STUDY_KEYS[:4])), row["metric"], row["target"]): row
        for row in evidence.stored_rows("goals")
        if row["collection"] == collection
    }
    workloads = {Workload(*(row[key] for key in STUDY_KEYS[:4])) for row in evidence.stored_rows("studies")}
    differences: dict[str, None] = {}
    for spool in spools:
        workload = Workload(*(str(spool.facts.get(key)) for key in STUDY_KEYS[:4]))
        stated = spool.facts.get("goals")
        for goal in stated if isinstance(stated, list) and workload in workloads else ():
            if not isinstance(goal, dict) or not isinstance(goal.get("target"), int | float):
                continue
            name, target = str(goal.get("metric")), float(goal["target"])
            row = stored.get((workload, name, target))
            where = f"{workload}, {name} {target:g}"
            if row is None:
                differences[f"{where}: it would be a new goal of the workload"] = None
            elif any(goal.get(key) not in (None, row[key]) for key in ("comparator", "source")):
                differences[f"{where}: its stored comparator {row['comparator']} and source {row['source']!r} stay"] = (
                    None
                )
    for text in differences:
        where, _, message = text.partition(": ")
        yield FACTS.finding("", where, f"{message}: accept the runs only if that is right")


def _directions(evidence: Evidence, collection: str, spools: Sequence[Spool]) -> Iterator[Finding]:
    measured = {name for row in evidence.stored_rows("studies") for name in row["metrics"]}
    stored = {row["metric"]: row["direction"] for row in evidence.stored_rows("metrics") if row["metric"] in measured}
    directions: set[tuple[str, str]] = set()
    for spool in spools:
        stated = spool.facts.get("directions")
        directions |= {(str(name), str(way)) for name, way in stated.items()} if isinstance(stated, dict) else set()
    for name, direction in sorted(directions):
        if name in stored and stored[name] != direction:
            yield FACTS.finding(
                "",
                f"{collection}, {name}",
                f"the runs say {direction}, and the lake {stored[name] or 'nothing'}, which stays: ask for another "
                "name of the metric, or accept the runs as they are",
            )
