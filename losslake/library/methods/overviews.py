"""The analyses of many workloads at once.

Written by `python -m losslake.library.generate` from the declarations of the questions: change those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from losslake.library.result import QuestionMethods, Result


class Overviews(QuestionMethods):
    """The analyses of many workloads at once."""

    def atlas(
        self,
        *,
        result: Literal["best_trial", "best_setting"] | None = None,
        seeds: Literal["median", "mean"] | None = None,
        collection: str | Sequence[str] | None = None,
        dataset: str | Sequence[str] | None = None,
        model: str | Sequence[str] | None = None,
        optimizer: str | Sequence[str] | None = None,
    ) -> Result:
        """Return the answer of /v1/analysis/atlas.

        The critical batch sizes of all workloads, each at its own goal, with intervals.

        Args:
            result: best_trial: the trial that takes the least, as of a search. best_setting: the setting whose
                seeds take the least, as of repeated settings, where the best of more trials is better by chance.
                Default: best_setting where at least half of the trials are of settings of three trials or more;
                `results` says which.
            seeds: What a setting takes, for best_setting: the median over its trials (of an even number, the lower
                one in the middle), or the mean, which no setting has of which a trial never reaches the target.
            collection: Only workloads of this collection; may be repeated. Default: all.
            dataset: Only workloads of this data set; may be repeated. Default: all.
            model: Only workloads of this model; may be repeated. Default: all.
            optimizer: Only workloads of this optimizer; may be repeated. Default: all.
        """
        parameters: dict[str, Any] = {
            "result": result,
            "seeds": seeds,
            "collection": collection,
            "dataset": dataset,
            "model": model,
            "optimizer": optimizer,
        }
        answer: Result = self._answer("/v1/analysis/atlas", parameters)
        return answer

    def frontier(
        self,
        workload: str | Sequence[str],
        *,
        measure: Literal["steps", "examples", "epochs", "seconds", "accelerator_seconds"] | None = None,
        examples_per_epoch: int | None = None,
        accelerators: int | None = None,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        step_budget: int | None = None,
        example_budget: int | None = None,
    ) -> Result:
        """Return the answer of /v1/analysis/frontier.

        The best value of every trial against steps, examples or time, with the Pareto front of all trials.

        Args:
            measure: The quantity in `amount`: steps; examples (step times batch size); epochs; seconds since the
                start of training, as logged with the evaluation; or accelerator_seconds (seconds times
                accelerators). The best trial is the one with the least of it.
            examples_per_epoch: For epochs: the examples in one. Default: as the logs say, if those of a workload
                agree.
            accelerators: For accelerator_seconds: how many each trial ran on. Default: as its log says.
            workload: The workload: collection/dataset/model/optimizer. A collection may contain slashes. May be
                repeated. `*` stands for any text within one of the four parts: such a pattern pools the trials of
                all workloads that it matches by batch size, and `pooled` lists them. Ties then go to the first
                workload, then the lower trial_id.
            metric: The metric: split/quantity. Default: that of the workload's goal, as for target.
            direction: Which way is better; default: the metric's own direction.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: COMPLETE and MISSED, which ran to their
                end.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated; all have
                to hold.
            step_budget: Only evaluations at this step or before.
            example_budget: Only evaluations after at most this many examples: step times batch size.
        """
        parameters: dict[str, Any] = {
            "measure": measure,
            "examples_per_epoch": examples_per_epoch,
            "accelerators": accelerators,
            "workload": workload,
            "metric": metric,
            "direction": direction,
            "trials": trials,
            "status": status,
            "flagged": flagged,
            "where": where,
            "step_budget": step_budget,
            "example_budget": example_budget,
        }
        answer: Result = self._answer("/v1/analysis/frontier", parameters)
        return answer
