"""The most frequent questions.

Written by `python -m losslake.library.generate` from the declarations of the questions: change those.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from losslake.library.result import Curve, QuestionMethods, Result


class Questions(QuestionMethods):
    """The most frequent questions."""

    def scaling(
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
        crossing: Literal["first", "k_consecutive", "sustained", "mean"] | None = None,
        k: int | None = None,
        margin: float | None = None,
        result: Literal["best_trial", "best_setting"] | None = None,
        seeds: Literal["median", "mean"] | None = None,
        measure: Literal["steps", "examples", "epochs", "seconds", "accelerator_seconds"] | None = None,
        examples_per_epoch: int | None = None,
        accelerators: int | None = None,
        normalize_to: int | None = None,
        reference: str | Sequence[str] | None = None,
    ) -> Curve:
        """Return the answer of /v1/scaling.

        How many steps a workload takes to a target, by batch size: those of the best trial, or the best setting.

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
            crossing: The hit that the columns `confirmed_…` count: the first, even a noisy dip; the first of
                k_consecutive hits; the first after which all are hits (sustained); or the first of the mean curve
                of a setting (mean), of steps at which all of its trials have a finite value. All but the first read
                the curves and take longer.
            k: For crossing=k_consecutive: hits in a row; default: 2. Values that are not numbers are left out.
            margin: For crossing=mean: above 0, the mean of n trials is a hit if it is better than the target by
                margin / sqrt(n) or more, as in the third track of modded-nanogpt; default: 0, the comparator alone.
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
            normalize_to: Batch size at which normalized_steps is 1 and perfect scaling starts; default: the
                smallest with a result.
            reference: Workloads, or patterns that pool some, whose usual steps to a goal of their own come beside
                the answer, such as those of reference runs; may be repeated.
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
            "crossing": crossing,
            "k": k,
            "margin": margin,
            "result": result,
            "seeds": seeds,
            "measure": measure,
            "examples_per_epoch": examples_per_epoch,
            "accelerators": accelerators,
            "normalize_to": normalize_to,
            "reference": reference,
        }
        answer: Curve = self._answer("/v1/scaling", parameters)
        return answer

    def curves(
        self,
        *,
        measure: Literal["steps", "examples", "epochs", "seconds", "accelerator_seconds"] | None = None,
        examples_per_epoch: int | None = None,
        accelerators: int | None = None,
        trial: str | Sequence[str] | None = None,
        study: str | Sequence[str] | None = None,
        metric: str | Sequence[str] | None = None,
        step_min: int | None = None,
        step_max: int | None = None,
        every: int | None = None,
        points: int | None = None,
        axis: Literal["linear", "log"] | None = None,
    ) -> Result:
        """Return the answer of /v1/curves.

        The measurements of some trials, or of all trials of some studies.

        Args:
            measure: The quantity in `amount`: steps; examples (step times batch size); epochs; seconds since the
                start of training, as logged with the evaluation; or accelerator_seconds (seconds times
                accelerators). The best trial is the one with the least of it.
            examples_per_epoch: For epochs: the examples in one. Default: as the logs say, if those of a workload
                agree.
            accelerators: For accelerator_seconds: how many each trial ran on. Default: as its log says.
            trial: Curve of this trial: collection/dataset/model/optimizer/batch_size/trial_id; may be repeated.
            study: Curves of all trials of this study: collection/dataset/model/optimizer/batch_size; may be
                repeated. `*` stands for any text within one of the first four parts: the curves of all studies that
                match.
            metric: Only this metric, split/quantity; may be repeated. Default: all that the study measures.
            step_min: Only evaluations at this step or after.
            step_max: Only evaluations at this step or before.
            every: Return only the first and every n-th later evaluation of each trial and metric.
            points: Thin for a plot, to about this many evaluations per trial and metric: M4 and every record; no
                crossing moves.
            axis: For points: the scale of steps in the plot.
        """
        parameters: dict[str, Any] = {
            "measure": measure,
            "examples_per_epoch": examples_per_epoch,
            "accelerators": accelerators,
            "trial": trial,
            "study": study,
            "metric": metric,
            "step_min": step_min,
            "step_max": step_max,
            "every": every,
            "points": points,
            "axis": axis,
        }
        answer: Result = self._answer("/v1/curves", parameters)
        return answer

    def steps_to_target(
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
        crossing: Literal["first", "k_consecutive", "sustained", "mean"] | None = None,
        k: int | None = None,
        margin: float | None = None,
        measure: Literal["steps", "examples", "epochs", "seconds", "accelerator_seconds"] | None = None,
        examples_per_epoch: int | None = None,
        accelerators: int | None = None,
        batch_size: int | Sequence[int] | None = None,
    ) -> Result:
        """Return the answer of /v1/steps-to-target.

        When each trial of a workload reaches a target.

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
            crossing: The hit that the columns `confirmed_…` count: the first, even a noisy dip; the first of
                k_consecutive hits; the first after which all are hits (sustained); or the first of the mean curve
                of a setting (mean), of steps at which all of its trials have a finite value. All but the first read
                the curves and take longer.
            k: For crossing=k_consecutive: hits in a row; default: 2. Values that are not numbers are left out.
            margin: For crossing=mean: above 0, the mean of n trials is a hit if it is better than the target by
                margin / sqrt(n) or more, as in the third track of modded-nanogpt; default: 0, the comparator alone.
            measure: The quantity in `amount`: steps; examples (step times batch size); epochs; seconds since the
                start of training, as logged with the evaluation; or accelerator_seconds (seconds times
                accelerators). The best trial is the one with the least of it.
            examples_per_epoch: For epochs: the examples in one. Default: as the logs say, if those of a workload
                agree.
            accelerators: For accelerator_seconds: how many each trial ran on. Default: as its log says.
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
            "crossing": crossing,
            "k": k,
            "margin": margin,
            "measure": measure,
            "examples_per_epoch": examples_per_epoch,
            "accelerators": accelerators,
            "batch_size": batch_size,
        }
        answer: Result = self._answer("/v1/steps-to-target", parameters)
        return answer

    def best(
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
    ) -> Result:
        """Return the answer of /v1/best.

        The best value of a metric by batch size, within a budget of steps or examples.

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
        }
        answer: Result = self._answer("/v1/best", parameters)
        return answer

    def metaparameters(
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
    ) -> Result:
        """Return the answer of /v1/metaparameters.

        The metaparameters of the best trials by batch size: those near-optimal in steps to a target.

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
        }
        answer: Result = self._answer("/v1/metaparameters", parameters)
        return answer

    def targets(
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
        measure: Literal["steps", "examples", "epochs", "seconds", "accelerator_seconds"] | None = None,
        examples_per_epoch: int | None = None,
        accelerators: int | None = None,
        target: float | Sequence[float] | None = None,
        target_min: float | None = None,
        target_max: float | None = None,
        n_targets: int | None = None,
        spacing: Literal["linear", "log"] | None = None,
    ) -> Result:
        """Return the answer of /v1/targets.

        Scaling for many targets in one call.

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
            measure: The quantity in `amount`: steps; examples (step times batch size); epochs; seconds since the
                start of training, as logged with the evaluation; or accelerator_seconds (seconds times
                accelerators). The best trial is the one with the least of it.
            examples_per_epoch: For epochs: the examples in one. Default: as the logs say, if those of a workload
                agree.
            accelerators: For accelerator_seconds: how many each trial ran on. Default: as its log says.
            target: A target, in the metric's unit; may be repeated.
            target_min: The lowest target of a grid.
            target_max: The highest target of a grid.
            n_targets: Number of targets in the grid, both ends included.
            spacing: linear: targets of the grid are spaced evenly; log: by even ratios.
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
            "measure": measure,
            "examples_per_epoch": examples_per_epoch,
            "accelerators": accelerators,
            "target": target,
            "target_min": target_min,
            "target_max": target_max,
            "n_targets": n_targets,
            "spacing": spacing,
        }
        answer: Result = self._answer("/v1/targets", parameters)
        return answer

    def cite(
        self,
        *,
        workload: str | Sequence[str] | None = None,
    ) -> Result:
        """Return the answer of /v1/cite.

        How to cite the data of workloads: collection@release as text and BibTeX, with the DOI where one is stated.

        Args:
            workload: Cite the collections of this workload, or of those that a pattern matches; may be repeated.
                Default: all.
        """
        parameters: dict[str, Any] = {"workload": workload}
        answer: Result = self._answer("/v1/cite", parameters)
        return answer
