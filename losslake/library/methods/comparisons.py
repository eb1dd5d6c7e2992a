"""The analyses of searches: what was tuned, and how workloads compare.

Written by `python -m losslake.library.generate` from the declarations of the questions: change those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from losslake.library.result import QuestionMethods, Result


class Comparisons(QuestionMethods):
    """The analyses of searches: what was tuned, and how workloads compare."""

    def compare(
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
        measure: Literal["steps", "examples", "epochs", "seconds", "accelerator_seconds"] | None = None,
        examples_per_epoch: int | None = None,
        accelerators: int | None = None,
        baseline: str | None = None,
        budget: int | None = None,
    ) -> Result:
        """Return the answer of /v1/analysis/compare.

        Which of several workloads reaches a target sooner at equal tuning budget, by batch size.

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
            measure: The quantity in `amount`: steps; examples (step times batch size); epochs; seconds since the
                start of training, as logged with the evaluation; or accelerator_seconds (seconds times
                accelerators). The best trial is the one with the least of it.
            examples_per_epoch: For epochs: the examples in one. Default: as the logs say, if those of a workload
                agree.
            accelerators: For accelerator_seconds: how many each trial ran on. Default: as its log says.
            baseline: The workload that the others are compared with; default: the first.
            budget: Tuning budget: the best of this many trials. Default: as many as all workloads have at that
                batch size.
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
            "measure": measure,
            "examples_per_epoch": examples_per_epoch,
            "accelerators": accelerators,
            "baseline": baseline,
            "budget": budget,
        }
        answer: Result = self._answer("/v1/analysis/compare", parameters)
        return answer

    def metaparameter_map(
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
        batch_size: int | Sequence[int] | None = None,
    ) -> Result:
        """Return the answer of /v1/analysis/metaparameter-map.

        Every trial with its learning rate, momentum and outcome: target reached, not reached, or diverged.

        Args:
            workload: The workload: collection/dataset/model/optimizer. A collection may contain slashes. May be
                repeated. `*` stands for any text within one of the four parts: such a pattern pools the trials of
                all workloads that it matches by batch size, and `pooled` lists them. Ties then go to the first
                workload, then the lower trial_id.
            metric: The metric: split/quantity. Default: that of the workload's goal, as for target.
            direction: Which way is better; default: the metric's own direction.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: all.
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
            batch_size: Only trials of this batch size, which every workload must have; may be repeated. Default:
                all.
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
        }
        answer: Result = self._answer("/v1/analysis/metaparameter-map", parameters)
        return answer

    def profiles(
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
        by: Literal["workload", "collection", "dataset", "model", "optimizer"] | None = None,
        largest_factor: float | None = None,
    ) -> Result:
        """Return the answer of /v1/analysis/profiles.

        Performance profiles: how often a workload, optimizer or model is within a factor of the best, and scores.

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
            target: The target, in the metric's unit; NaN and infinities never reach it. Default: each workload's
                own goal.
            by: The competitors: workloads, by batch size, or one part of their names, by the rest of the name and
                batch size.
            largest_factor: The largest factor that counts for a score; AlgoPerf: 4.
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
            "by": by,
            "largest_factor": largest_factor,
        }
        answer: Result = self._answer("/v1/analysis/profiles", parameters)
        return answer

    def rcp(
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
        submission: str | None = None,
        samples: float | Sequence[float] | None = None,
        failed_runs: int | None = None,
        batch_size: int | None = None,
        submission_runs: int | None = None,
        trimmed: int | None = None,
        tolerated_failures: int | None = None,
        significance: float | None = None,
        allowance: float | None = None,
        pruned: bool | None = None,
    ) -> Result:
        """Return the answer of /v1/analysis/rcp.

        MLPerf's reference convergence points of a workload, and whether a submission converges too fast.

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
            submission: The workload to check, at each of its batch sizes; the reference is then the single workload
                named.
            samples: Instead of a submission: examples to the target of one run, with batch_size; may be repeated.
            failed_runs: With samples: number of further runs that did not converge.
            batch_size: With samples: the batch size of these runs.
            submission_runs: Runs of a submission. Default: as many as the given one has, else half of the
                reference's.
            trimmed: Runs that the olympic mean leaves out at either end; MLPerf: 1, for unet3d 4.
            tolerated_failures: Runs of a submission that may fail to converge, no more than `trimmed`; MLPerf: 1,
                for unet3d 4.
            significance: Significance level of the one-sided t-test.
            allowance: Examples by which the least mean is lowered; MLPerf: 0, for llama31_405b 46080.
            pruned: Compare a submission only with points that remain after pruning, as MLPerf does by default.
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
            "submission": submission,
            "samples": samples,
            "failed_runs": failed_runs,
            "batch_size": batch_size,
            "submission_runs": submission_runs,
            "trimmed": trimmed,
            "tolerated_failures": tolerated_failures,
            "significance": significance,
            "allowance": allowance,
            "pruned": pruned,
        }
        answer: Result = self._answer("/v1/analysis/rcp", parameters)
        return answer

    def survival(
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
    ) -> Result:
        """Return the answer of /v1/analysis/survival.

        How many trials have reached a target by each step, where others diverge or are stopped before.

        Args:
            workload: The workload: collection/dataset/model/optimizer. A collection may contain slashes. May be
                repeated. `*` stands for any text within one of the four parts: such a pattern pools the trials of
                all workloads that it matches by batch size, and `pooled` lists them. Ties then go to the first
                workload, then the lower trial_id.
            metric: The metric: split/quantity. Default: that of the workload's goal, as for target.
            direction: Which way is better; default: the metric's own direction.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: all, since missed, diverged and stopped
                trials count as such.
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
        }
        answer: Result = self._answer("/v1/analysis/survival", parameters)
        return answer

    def tuning_budget(
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
        budget: int | Sequence[int] | None = None,
        population: Literal["non-divergent", "launched"] | Sequence[Literal["non-divergent", "launched"]] | None = None,
    ) -> Result:
        """Return the answer of /v1/analysis/tuning-budget.

        The best of n trials by batch size and n: its steps to a target, chance to reach it, and expected best
        value.

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
            budget: Tuning budget: the best of this many trials; may be repeated. Default: powers of two, and all
                trials.
            population: Trials that count: non-divergent, those of `status` that didn't diverge; launched, these and
                all that diverged (INFEASIBLE), whatever `status` says. May be repeated. Default: both.
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
            "budget": budget,
            "population": population,
        }
        answer: Result = self._answer("/v1/analysis/tuning-budget", parameters)
        return answer
