"""The hardware, accelerators and epochs of trials, and the doubts about times that were measured on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set

import numpy as np
import pyarrow as pa

from losslake.questions.release.pool import Pool
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.search import Search
from losslake.questions.trials.selection import Goal
from losslake_schema.reached import NEVER, Flags


def resources_of(view: ReleaseView, facts: WorkloadFacts) -> pa.Table:
    """Return by trial its hardware, accelerators, epochs, and the size and tokens of its model; null for unknown.

    The columns are those of resources_of_trials.sql.
    """
    if isinstance(facts, Pool):
        return pa.concat_tables([resources_of(view, member) for member in facts.members]).take(facts.rows_in_members)
    return view.table("resources_of_trials", facts.study_ids)


def systems_of(view: ReleaseView, facts: WorkloadFacts, is_counted: Flags) -> set[str | None]:
    """Return the systems on which trials ran; None for unknown. is_counted: by trial."""
    return set(resources_of(view, facts)["hardware"].filter(pa.array(is_counted)).to_pylist())


def accelerators_of(view: ReleaseView, facts: WorkloadFacts, is_counted: Flags) -> list[str]:
    """Return the known accelerators on which trials ran, of the most trials first. is_counted: by trial."""
    return most_common(resources_of(view, facts)["accelerator"].filter(pa.array(is_counted)))


def most_common(names: pa.ChunkedArray) -> list[str]:
    """Return the distinct names, the most common first, without nulls."""
    return [name for name, _ in Counter(names.drop_null().to_pylist()).most_common()]


def is_one_system(systems: Set[str | None]) -> bool:
    """Return True unless times of these systems compare hardware, too."""
    return len(systems) < 1 or (len(systems) == 1 and None not in systems)


def systems_in_words(systems: Set[str | None]) -> str:
    """Return systems in words: the name of one, or the number of several."""
    names = sorted(each for each in systems if each is not None)
    if not names:
        return "unknown systems"
    what = names[0] if len(names) == 1 else f"{len(names)} systems"
    return f"{what} and unknown ones" if None in systems else what


def several_systems(view: ReleaseView, facts: WorkloadFacts, is_counted: Flags) -> str:
    """Return in words the systems on which trials ran; empty for one, on which times can be compared."""
    systems = systems_of(view, facts, is_counted)
    return "" if is_one_system(systems) else systems_in_words(systems)


def doubts_about_times(search: Search, goal: Goal | None, noun: str = "seconds") -> Iterator[str]:
    """Yield in words how many trials that reached a goal, or all if it is None, have times that can't all be right.

    A later step has an earlier time where evaluations of saved checkpoints are logged in another order, or where a
    clock starts anew when training is resumed. noun: what is counted.
    """
    records = search.records
    if records.elapsed_s is None:
        return
    trials = np.repeat(records.rows, np.diff(records.offsets))
    falls = (trials[1:] == trials[:-1]) & (np.diff(records.elapsed_s) < 0)
    doubtful = np.unique(trials[1:][falls])
    if len(doubtful) and goal is not None:
        doubtful = doubtful[search.first_hits(goal)[doubtful] != NEVER]
    if n := int(search.admitted[doubtful].sum()):
        which = "trials" if goal is None else "trials that reached the target"
        yield (
            f"{search.facts.workload}: in {n} of the {which}, an evaluation has an earlier time than one at a smaller "
            f"step: their {noun} may be wrong"
        )
