"""What is the result of a study: its best trial, as of a search, or its best setting, as of repeated settings."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from losslake.analysis.best_setting import FEWEST_SEEDS, Seeds
from losslake.index.frontiers import COUNTED
from losslake.questions.release.pool import Pool
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.selection import ResultName, Selection
from losslake.questions.trials.settings import settings_of
from losslake_schema.names import Workload
from losslake_schema.reached import Flags, Integers


@dataclass(frozen=True)
class ResultRule:
    """What the result of each study of a workload is, and why in words.

    settings: by trial, as in facts.trials, a number that the trials of one setting of a study share.
    """

    name: ResultName
    seeds: Seeds
    settings: Integers
    why: str

    @property
    def is_of_settings(self) -> bool:
        """True if the result is that of the best setting."""
        return self.name == "best_setting"


_Asked = tuple[Workload, str, str, ResultName | None, Seeds]
# By release, since it is asked in every answer about a target, and never changes.
_RULES: WeakKeyDictionary[ReleaseView, dict[_Asked, ResultRule]] = WeakKeyDictionary()


def result_rule(view: ReleaseView, facts: WorkloadFacts, selection: Selection, admitted: Flags) -> ResultRule:
    """Return the rule for a workload. admitted: by trial, whether the selection admits it.

    By default it is the best setting where at least half of the admitted trials are of settings of 3 trials or more.
    """
    if isinstance(facts, Pool) or selection.trials is not None or selection.statuses != COUNTED:
        return _rule(view, facts, selection, admitted)
    known = _RULES.setdefault(view, {})
    asked = (facts.workload, selection.metric, selection.flagged, selection.result, selection.seeds)
    if asked not in known:
        known[asked] = _rule(view, facts, selection, admitted)
    return known[asked]


def _rule(view: ReleaseView, facts: WorkloadFacts, selection: Selection, admitted: Flags) -> ResultRule:
    of_release = settings_of(view, facts).number
    settings = np.unique(np.stack([facts.study_of_trial, of_release]), axis=1, return_inverse=True)[1].ravel()
    if selection.result is not None:
        return ResultRule(selection.result, selection.seeds, settings, "as requested")
    sizes = np.bincount(settings[admitted], minlength=1)
    repeated, n = int(sizes[sizes >= FEWEST_SEEDS].sum()), int(admitted.sum())
    name: ResultName = "best_setting" if n and 2 * repeated >= n else "best_trial"
    why = f"{repeated:,} of {n:,} trials are of settings of {FEWEST_SEEDS} trials or more"
    return ResultRule(name, selection.seeds, settings, why)
