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
    """Return the settings of the trials."""
    if isinstance(facts, Pool):
        members, first = [], 0
        for each in (settings_of(view, member) for member in facts.members):
            members.append(Settings(each.number + first, each.is_known, each.submitter))
            first += len(each.number)
        rows = facts.rows_in_members
        return Settings(
            np.concatenate([each.number for each in members])[rows],
            np.concatenate([each.is_known for each in members])[rows],
            np.concatenate([each.submitter for each in members])[rows],
        )
    table = view.table("settings_of_trials", facts.study_ids)
    numbers = np.unique(table["setting"].to_numpy(), return_inverse=True)[1].astype(np.int64)
    return Settings(numbers, table["is_known"].to_numpy(), table["submitter"].to_numpy())


def drawn_as_wholes(view: ReleaseView, facts: WorkloadFacts) -> Integers:
    """Return by trial a number of what is drawn as a whole: its setting, or its workload where a pool has several.

    That is at a batch size: a workload of a pool is a recipe, and what it repeats is alike, whatever its settings are.
    """
    settings = settings_of(view, facts).number
    if not isinstance(facts, Pool):
        return settings
    ends = (facts.extreme_by_study(extreme, facts.member, NEVER) for extreme in (np.minimum, np.maximum))
    is_mixed = np.not_equal(*ends)[facts.study_of_trial]
    return np.where(is_mixed, facts.member, len(facts.members) + settings)
