"""The analyses of how a workload scales.

Written by `python -m losslake.library.generate` from the declarations of the questions: change those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from losslake.library.result import QuestionMethods, Result


class Analyses(QuestionMethods):
    """The analyses of how a workload scales."""

    def critical_batch_size(
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
        fit: Literal["robust", "least-squares"] | None = None,
        overhead: float | None = None,
        optimal_batch_size: float | None = None,
    ) -> Result:
        """Return the answer of /v1/analysis/critical-batch-size.

        The critical batch size of workloads with intervals, or bounds where the data support no estimate.

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
            fit: robust: Huber loss in log space, never-reached batch sizes too; least-squares: plain, as Zhang et
                al. 2024.
            overhead: For zhang2024: the share of extra examples, over the optimal batch size, at the critical one.
            optimal_batch_size: For zhang2024: the batch size that the overhead is relative to; default: that
                paper's, for language models.
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
            "fit": fit,
            "overhead": overhead,
            "optimal_batch_size": optimal_batch_size,
        }
        answer: Result = self._answer("/v1/analysis/critical-batch-size", parameters)
        return answer

    def doublings(
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
    ) -> Result:
        """Return the answer of /v1/analysis/doublings.

        The share of steps that each doubling of the batch size saves, by workload.

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
        }
        answer: Result = self._answer("/v1/analysis/doublings", parameters)
        return answer

    def metaparameter_optima(
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
        within: float | None = None,
        origin: int | None = None,
    ) -> Result:
        """Return the answer of /v1/analysis/metaparameters.

        The best metaparameters by batch size, how their learning rate grows with it, and what heuristics cost.

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
            within: Trials are near-optimal if their steps are at most 1 + within times those of their study's best.
            origin: The batch size whose best trial the heuristics start from; default: the smallest with a result.
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
            "within": within,
            "origin": origin,
        }
        answer: Result = self._answer("/v1/analysis/metaparameters", parameters)
        return answer

    def quality(
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
        result: Literal["best_trial", "best_setting"] | None = None,
        seeds: Literal["median", "mean"] | None = None,
        step_budget: int | Sequence[int] | None = None,
        example_budget: int | Sequence[int] | None = None,
        last: bool | None = None,
    ) -> Result:
        """Return the answer of /v1/analysis/quality.

        The best value by batch size within budgets of steps and examples, and how far large batch sizes fall short.

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
            result: best_trial: the trial that takes the least, as of a search. best_setting: the setting whose
                seeds take the least, as of repeated settings, where the best of more trials is better by chance.
                Default: best_setting where at least half of the trials are of settings of three trials or more;
                `results` says which.
            seeds: What a setting takes, for best_setting: the median over its trials (of an even number, the lower
                one in the middle), or the mean, which no setting has of which a trial never reaches the target.
            step_budget: Only evaluations at this step or before; may be repeated. Default, without any budget: the
                most steps, and the most examples, that every batch size was trained for.
            example_budget: Only evaluations after at most this many examples, step times batch size; may be
                repeated.
            last: Also read the curves of the best trials, for how they ended and for their test values.
        """
        parameters: dict[str, Any] = {
            "workload": workload,
            "metric": metric,
            "direction": direction,
            "trials": trials,
            "status": status,
            "flagged": flagged,
            "where": where,
            "result": result,
            "seeds": seeds,
            "step_budget": step_budget,
            "example_budget": example_budget,
            "last": last,
        }
        answer: Result = self._answer("/v1/analysis/quality", parameters)
        return answer

    def regimes(
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
        perfect_scaling_tau: float | None = None,
        max_useful_tau: float | None = None,
        undertuned_tau: float | None = None,
    ) -> Result:
        """Return the answer of /v1/analysis/regimes.

        Where perfect scaling ends and maximal data parallelism begins, by workload.

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
            perfect_scaling_tau: Perfect scaling continues while examples are at most 1 + this times the fewest of
                any batch size.
            max_useful_tau: A batch size is large enough when no larger one improves its steps by more than this.
            undertuned_tau: A batch size is dominated with more than 1 + this times the examples of a larger one, or
                the steps of a smaller one, if its evaluations don't explain that. Default: 0.15 for best_setting, 1
                for best_trial, which is noisier.
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
            "perfect_scaling_tau": perfect_scaling_tau,
            "max_useful_tau": max_useful_tau,
            "undertuned_tau": undertuned_tau,
        }
        answer: Result = self._answer("/v1/analysis/regimes", parameters)
        return answer

    def target_sweep(
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
        result: Literal["best_trial", "best_setting"] | None = None,
        seeds: Literal["median", "mean"] | None = None,
        target_min: float | None = None,
        target_max: float | None = None,
        n_targets: int | None = None,
        spacing: Literal["breakpoints", "linear", "log"] | None = None,
    ) -> Result:
        """Return the answer of /v1/analysis/target-sweep.

        How regimes, critical batch size and the order of workloads depend on the target, and where a claim holds.

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
            result: best_trial: the trial that takes the least, as of a search. best_setting: the setting whose
                seeds take the least, as of repeated settings, where the best of more trials is better by chance.
                Default: best_setting where at least half of the trials are of settings of three trials or more;
                `results` says which.
            seeds: What a setting takes, for best_setting: the median over its trials (of an even number, the lower
                one in the middle), or the mean, which no setting has of which a trial never reaches the target.
            target_min: Lowest target. Default, also for the highest: from the hardest that any batch size reaches
                to the easiest that none reaches at its first evaluation.
            target_max: Highest target.
            n_targets: Number of targets.
            spacing: Spacing of targets: evenly among breakpoints, where the answer changes; linear; or log, by even
                ratios.
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
            "result": result,
            "seeds": seeds,
            "target_min": target_min,
            "target_max": target_max,
            "n_targets": n_targets,
            "spacing": spacing,
        }
        answer: Result = self._answer("/v1/analysis/target-sweep", parameters)
        return answer
