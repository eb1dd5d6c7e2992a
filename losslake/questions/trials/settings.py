"""The settings of the trials of a workload or a pool."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from losslake.analysis.settings import Numbers
from losslake.questions.release.pool import Pool
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake_schema.reached import NEVER, Flags, Integers


@dataclass(frozen=True)
class Settings:
    """The settings of trials, as in facts.trials.

    number: which trials of the same setting of a workload share, seeds aside. is_known: whether the setting is known;
    a trial for which it isn't has one of its own. submitter: which trials of one submitter share; 0 for unknown.
    """

    number: Integers
    is_known: Flags
    submitter: Numbers


def settings_of(view: ReleaseView, facts: WorkloadFacts) -> Settings:
    """Return the settings of the trials; where a pool has several workloads at a batch size, these are its settings.

    A workload of a pool is a recipe of its own, and what it repeats is alike, however many settings it has.
    """
    if isinstance(facts, Pool):
        members, first = [], 0
        for each in (settings_of(view, member) for member in facts.members):
            members.append(Settings(each.number + first, each.is_known, each.submitter))
            first += len(each.number)
        rows, member = facts.rows_in_members, facts.member
        ends = (facts.extreme_by_study(extreme, member, NEVER) for extreme in (np.minimum, np.maximum))
        is_mixed = np.not_equal(*ends)[facts.study_of_trial]
        return Settings(
            np.where(is_mixed, member, len(members) + np.concatenate([each.number for each in members])[rows]),
            np.concatenate([each.is_known for each in members])[rows],
            np.concatenate([each.submitter for each in members])[rows],
        )
    table = view.table("settings_of_trials", facts.study_ids)
    numbers = np.unique(table["setting"].to_numpy(), return_inverse=True)[1].astype(np.int64)
    return Settings(numbers, table["is_known"].to_numpy(), table["submitter"].to_numpy())
