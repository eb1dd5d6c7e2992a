"""The analyses of what a training will take: time, cost, and how it goes on.

Written by `python -m losslake.library.generate` from the declarations of the questions: change those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from losslake.library.result import QuestionMethods, Result


class Costs(QuestionMethods):
    """The analyses of what a training will take: time, cost, and how it goes on."""

    def advice(
        self,
        workload: str | Sequence[str],
        *,
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
        comparator: Literal["strict", "inclusive"] | None = None,
        target: float | None = None,
        step_time: str | Sequence[str] | None = None,
        price: float | None = None,
        accelerators: int | None = None,
        budget: int | None = None,
    ) -> Result:
        """Return the answer of /v1/analysis/advice.

        Which batch size to use: time and cost to a target at each, from step times or the price of an accelerator.

        Args:
            workload: The workload: collection/dataset/model/optimizer. A collection may contain slashes. May be
                repeated. `*` stands for any text within one of the four parts: such a pattern pools the trials of
                all workloads that it matches by batch size, and `pooled` lists them. Ties then go to the first
                workload, then the lower trial_id.
            metric: The metric: split/quantity. Default: that of the workload's goal, as for target.
            direction: Which way is better; default: the metric's own direction.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: all but INCOMPLETE, as new trials miss and
                diverge, too.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated; all have
                to hold.
            step_budget: Only evaluations at this step or before.
            example_budget: Only evaluations after at most this many examples: step times batch size.
            comparator: strict: a value better than the target reaches it; inclusive: an equal value does, too.
                Default: that of the workload's goals in this metric; without any, strict.
            target: The target, in the metric's unit. NaN and infinities never reach it. Default: that of a goal in
                the metric that the workloads share; of several, the one that most of them have, then the first.
            step_time: Seconds per step of the model at a batch size, BATCH_SIZE=SECONDS; may be repeated. Between
                two, a step's time is linear in the batch size, as is up to twice as far beyond them. Default: the
                times in the logs of trials.
            price: The price of an accelerator hour, in any currency; default: no costs.
            accelerators: On how many accelerators a trial runs, for costs; default: 1 with step times, else as the
                logs say. Logs that say it can't be overridden, as their times depend on it.
            budget: Number of new trials at a batch size, of which the best counts; default: half of the smallest
                number of trials (of settings, where they repeat) at any batch size, at least 1.
        """
        parameters: dict[str, Any] = {
            "workload": workload,
            "metric": metric,
            "direction": direction,
            "trials": trials,
            "status": status,
            "flagged": flagged,
            "where": where,
            "step_budget": step_budget,
            "example_budget": example_budget,
            "comparator": comparator,
            "target": target,
            "step_time": step_time,
            "price": price,
            "accelerators": accelerators,
            "budget": budget,
        }
        answer: Result = self._answer("/v1/analysis/advice", parameters)
        return answer

    def forecast(
        self,
        workload: str | Sequence[str],
        batch_size: int,
        curve: str | Sequence[str],
        *,
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
        comparator: Literal["strict", "inclusive"] | None = None,
        target: float | None = None,
    ) -> Result:
        """Return the answer of /v1/analysis/forecast.

        Whether a running training is on track: bands for its best value at the end, and for its step of the target.

        Args:
            workload: The workload: collection/dataset/model/optimizer. A collection may contain slashes. May be
                repeated. `*` stands for any text within one of the four parts: such a pattern pools the trials of
                all workloads that it matches by batch size, and `pooled` lists them. Ties then go to the first
                workload, then the lower trial_id.
            metric: The metric: split/quantity. Default: that of the workload's goal, as for target.
            direction: Which way is better; default: the metric's own direction.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: all but INCOMPLETE, as new trials miss and
                diverge, too. INCOMPLETE is refused, since it isn't known how such trials would have ended.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated; all have
                to hold.
            step_budget: Only evaluations at this step or before.
            example_budget: Only evaluations after at most this many examples: step times batch size.
            comparator: strict: a value better than the target reaches it; inclusive: an equal value does, too.
                Default: that of the workload's goals in this metric; without any, strict.
            target: The target, in the metric's unit. NaN and infinities never reach it. Default: that of a goal in
                the metric that the workloads share; of several, the one that most of them have, then the first.
            batch_size: The batch size of the run; it is compared only with trials of the same one.
            curve: An evaluation of the run so far, STEP=VALUE; repeated, up to 200. VALUE may be nan or inf. Of a
                longer curve, give each value that is better than all before it, and the last evaluation: the
                forecast is the same.
        """
        parameters: dict[str, Any] = {
            "workload": workload,
            "metric": metric,
            "direction": direction,
            "trials": trials,
            "status": status,
            "flagged": flagged,
            "where": where,
            "step_budget": step_budget,
            "example_budget": example_budget,
            "comparator": comparator,
            "target": target,
            "batch_size": batch_size,
            "curve": curve,
        }
        answer: Result = self._answer("/v1/analysis/forecast", parameters)
        return answer

    def time_cost(
        self,
        workload: str | Sequence[str],
        *,
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
        comparator: Literal["strict", "inclusive"] | None = None,
        target: float | None = None,
        result: Literal["best_trial", "best_setting"] | None = None,
        seeds: Literal["median", "mean"] | None = None,
        max_useful_tau: float | None = None,
    ) -> Result:
        """Return the answer of /v1/analysis/time-cost.

        Time to a target against the examples it costs by batch size, and from which size on time no longer falls.

        Args:
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
            comparator: strict: a value better than the target reaches it; inclusive: an equal value does, too.
                Default: that of the workload's goals in this metric; without any, strict.
            target: The target, in the metric's unit. NaN and infinities never reach it. Default: that of a goal in
                the metric that the workloads share; of several, the one that most of them have, then the first.
            result: best_trial: the trial that takes the least, as of a search. best_setting: the setting whose
                seeds take the least, as of repeated settings, where the best of more trials is better by chance.
                Default: best_setting where at least half of the trials are of settings of three trials or more;
                `results` says which.
            seeds: What a setting takes, for best_setting: the median over its trials (of an even number, the lower
                one in the middle), or the mean, which no setting has of which a trial never reaches the target.
            max_useful_tau: A larger batch size counts as faster if it saves more than this share of the time of a
                smaller one.
        """
        parameters: dict[str, Any] = {
            "workload": workload,
            "metric": metric,
            "direction": direction,
            "trials": trials,
            "status": status,
            "flagged": flagged,
            "where": where,
            "step_budget": step_budget,
            "example_budget": example_budget,
            "comparator": comparator,
            "target": target,
            "result": result,
            "seeds": seeds,
            "max_useful_tau": max_useful_tau,
        }
        answer: Result = self._answer("/v1/analysis/time-cost", parameters)
        return answer
