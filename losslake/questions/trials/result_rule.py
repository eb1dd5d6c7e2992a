"""The result of a study: its best trial, as of a search, or its best setting, as of repeated settings."""

from __future__ import annotations

from dataclasses import dataclass

from losslake.analysis.best_setting import FEWEST_SEEDS, Seeds, n_repeated
from losslake.analysis.break_points import OF_BEST_SETTING, OF_BEST_TRIAL
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.selection import ResultName, Selection
from losslake_schema.reached import Flags, Integers


@dataclass(frozen=True)
class ResultRule:
    """The result of each study of a workload, and the reason in words.

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

    @property
    def undertuned_tau(self) -> float:
        """The tolerance of dominated batch sizes."""
        return undertuned_tau(self.is_of_settings)


def undertuned_tau(is_of_settings: bool) -> float:
    """Return the tolerance of dominated batch sizes, for results of a best setting or of a best trial."""
    return OF_BEST_SETTING if is_of_settings else OF_BEST_TRIAL


def result_rule(facts: WorkloadFacts, selection: Selection, admitted: Flags) -> ResultRule:
    """Return the rule for a workload. admitted: by trial, whether the selection admits it.

    By default it is the best setting where at least half of the admitted trials are of settings of 3 trials or more.
    """
    settings = facts.trials.setting
    if selection.result is not None:
        return ResultRule(selection.result, selection.seeds, settings, "as requested")
    repeated, n = n_repeated(settings[admitted]), int(admitted.sum())
    name: ResultName = "best_setting" if n and 2 * repeated >= n else "best_trial"
    why = f"{repeated:,} of {n:,} trials are of settings of {FEWEST_SEEDS} trials or more"
    return ResultRule(name, selection.seeds, settings, why)
