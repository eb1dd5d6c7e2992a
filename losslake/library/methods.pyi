"""Written by `python -m losslake.library.generate` from the declarations of the questions: change those."""

from collections.abc import Sequence
from typing import Any, Literal

from losslake.library.result import Curve, Result

class QuestionMethods:
    def scaling(
        self,
        workload: str | Sequence[str],
        *,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
        step_budget: int | None = None,
        example_budget: int | None = None,
        comparator: Literal["strict", "inclusive"] | None = None,
        target: float | None = None,
        crossing: Literal["first", "k_consecutive", "sustained", "mean"] | None = None,
        k: int | None = None,
        margin: float | None = None,
        result: Literal["best_trial", "best_setting"] | None = None,
        seeds: Literal["median", "mean"] | None = None,
        measure: Literal["steps", "examples", "epochs", "tokens", "flops", "seconds", "accelerator_seconds"]
        | None = None,
        examples_per_epoch: int | None = None,
        accelerators: int | None = None,
        tokens_per_example: float | None = None,
        n_parameters: int | None = None,
        flops_per_token: float | None = None,
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
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: COMPLETE and MISSED, which ran to their
                end.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
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
            seeds: The steps of a setting, for best_setting: the median over its trials (of an even number, the
                lower one in the middle), or the mean, which no setting has of which a trial never reaches the
                target.
            measure: The quantity in `amount`: steps; examples (step times batch size); epochs; tokens (examples
                times tokens_per_example); flops of training (tokens times flops_per_token, or 6 times the
                parameters of the model, which warnings say); seconds since the start of training, as logged with
                the evaluation; or accelerator_seconds (seconds times accelerators). The best trial is the one with
                the least of it.
            examples_per_epoch: For epochs: the examples in one. Default: as the logs say, if those of a workload
                agree.
            accelerators: For accelerator_seconds: how many each trial ran on. Default: as its log says.
            tokens_per_example: For tokens and flops: the tokens in one of what batch sizes count, unless these are
                tokens. Default: as the log or mapping of each trial says.
            n_parameters: For flops: the parameters of the model; 6 times as many FLOPs are counted for a token.
                Default: as the log or mapping of each trial says: flops_per_token, else 6 times
                n_active_parameters, n_parameters or n_parameters_non_embedding, the first that it states.
            flops_per_token: For flops: those of training on a token, forward and backward. It precedes
                n_parameters.
            normalize_to: Batch size at which normalized_steps is 1 and perfect scaling starts; default: the
                smallest with a result.
            reference: Workloads, or patterns that pool some, whose usual steps to a goal of their own come beside
                the answer, such as those of reference runs; may be repeated.
        """
    def curves(
        self,
        *,
        measure: Literal["steps", "examples", "epochs", "tokens", "flops", "seconds", "accelerator_seconds"]
        | None = None,
        examples_per_epoch: int | None = None,
        accelerators: int | None = None,
        tokens_per_example: float | None = None,
        n_parameters: int | None = None,
        flops_per_token: float | None = None,
        fields: str | None = None,
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
            measure: The quantity in `amount`: steps; examples (step times batch size); epochs; tokens (examples
                times tokens_per_example); flops of training (tokens times flops_per_token, or 6 times the
                parameters of the model, which warnings say); seconds since the start of training, as logged with
                the evaluation; or accelerator_seconds (seconds times accelerators). The best trial is the one with
                the least of it.
            examples_per_epoch: For epochs: the examples in one. Default: as the logs say, if those of a workload
                agree.
            accelerators: For accelerator_seconds: how many each trial ran on. Default: as its log says.
            tokens_per_example: For tokens and flops: the tokens in one of what batch sizes count, unless these are
                tokens. Default: as the log or mapping of each trial says.
            n_parameters: For flops: the parameters of the model; 6 times as many FLOPs are counted for a token.
                Default: as the log or mapping of each trial says: flops_per_token, else 6 times
                n_active_parameters, n_parameters or n_parameters_non_embedding, the first that it states.
            flops_per_token: For flops: those of training on a token, forward and backward. It precedes
                n_parameters.
            fields: The columns to return, separated by commas; default: all.
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
    def steps_to_target(
        self,
        workload: str | Sequence[str],
        *,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
        step_budget: int | None = None,
        example_budget: int | None = None,
        comparator: Literal["strict", "inclusive"] | None = None,
        target: float | None = None,
        crossing: Literal["first", "k_consecutive", "sustained", "mean"] | None = None,
        k: int | None = None,
        margin: float | None = None,
        measure: Literal["steps", "examples", "epochs", "tokens", "flops", "seconds", "accelerator_seconds"]
        | None = None,
        examples_per_epoch: int | None = None,
        accelerators: int | None = None,
        tokens_per_example: float | None = None,
        n_parameters: int | None = None,
        flops_per_token: float | None = None,
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
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: COMPLETE and MISSED, which ran to their
                end.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
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
            measure: The quantity in `amount`: steps; examples (step times batch size); epochs; tokens (examples
                times tokens_per_example); flops of training (tokens times flops_per_token, or 6 times the
                parameters of the model, which warnings say); seconds since the start of training, as logged with
                the evaluation; or accelerator_seconds (seconds times accelerators). The best trial is the one with
                the least of it.
            examples_per_epoch: For epochs: the examples in one. Default: as the logs say, if those of a workload
                agree.
            accelerators: For accelerator_seconds: how many each trial ran on. Default: as its log says.
            tokens_per_example: For tokens and flops: the tokens in one of what batch sizes count, unless these are
                tokens. Default: as the log or mapping of each trial says.
            n_parameters: For flops: the parameters of the model; 6 times as many FLOPs are counted for a token.
                Default: as the log or mapping of each trial says: flops_per_token, else 6 times
                n_active_parameters, n_parameters or n_parameters_non_embedding, the first that it states.
            flops_per_token: For flops: those of training on a token, forward and backward. It precedes
                n_parameters.
            batch_size: Only trials of this batch size, which every workload must have; may be repeated. Default:
                all.
        """
    def best(
        self,
        workload: str | Sequence[str],
        *,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
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
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: COMPLETE and MISSED, which ran to their
                end.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
            step_budget: Only evaluations at this step or before.
            example_budget: Only evaluations after at most this many examples: step times batch size.
        """
    def metaparameters(
        self,
        workload: str | Sequence[str],
        *,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
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
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: COMPLETE and MISSED, which ran to their
                end.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
            step_budget: Only evaluations at this step or before.
            example_budget: Only evaluations after at most this many examples: step times batch size.
            comparator: strict: a value better than the target reaches it; inclusive: an equal value does, too.
                Default: that of the workload's goals in this metric; without any, strict.
            target: The target, in the metric's unit. NaN and infinities never reach it. Default: that of a goal in
                the metric that the workloads share; of several, the one that most of them have, then the first.
            within: Trials are near-optimal if their steps are at most 1 + within times those of their study's best.
        """
    def targets(
        self,
        workload: str | Sequence[str],
        *,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
        step_budget: int | None = None,
        example_budget: int | None = None,
        comparator: Literal["strict", "inclusive"] | None = None,
        result: Literal["best_trial", "best_setting"] | None = None,
        seeds: Literal["median", "mean"] | None = None,
        measure: Literal["steps", "examples", "epochs", "tokens", "flops", "seconds", "accelerator_seconds"]
        | None = None,
        examples_per_epoch: int | None = None,
        accelerators: int | None = None,
        tokens_per_example: float | None = None,
        n_parameters: int | None = None,
        flops_per_token: float | None = None,
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
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: COMPLETE and MISSED, which ran to their
                end.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
            step_budget: Only evaluations at this step or before.
            example_budget: Only evaluations after at most this many examples: step times batch size.
            comparator: strict: a value better than the target reaches it; inclusive: an equal value does, too.
                Default: that of the workload's goals in this metric; without any, strict.
            result: best_trial: the trial that takes the least, as of a search. best_setting: the setting whose
                seeds take the least, as of repeated settings, where the best of more trials is better by chance.
                Default: best_setting where at least half of the trials are of settings of three trials or more;
                `results` says which.
            seeds: The steps of a setting, for best_setting: the median over its trials (of an even number, the
                lower one in the middle), or the mean, which no setting has of which a trial never reaches the
                target.
            measure: The quantity in `amount`: steps; examples (step times batch size); epochs; tokens (examples
                times tokens_per_example); flops of training (tokens times flops_per_token, or 6 times the
                parameters of the model, which warnings say); seconds since the start of training, as logged with
                the evaluation; or accelerator_seconds (seconds times accelerators). The best trial is the one with
                the least of it.
            examples_per_epoch: For epochs: the examples in one. Default: as the logs say, if those of a workload
                agree.
            accelerators: For accelerator_seconds: how many each trial ran on. Default: as its log says.
            tokens_per_example: For tokens and flops: the tokens in one of what batch sizes count, unless these are
                tokens. Default: as the log or mapping of each trial says.
            n_parameters: For flops: the parameters of the model; 6 times as many FLOPs are counted for a token.
                Default: as the log or mapping of each trial says: flops_per_token, else 6 times
                n_active_parameters, n_parameters or n_parameters_non_embedding, the first that it states.
            flops_per_token: For flops: those of training on a token, forward and backward. It precedes
                n_parameters.
            target: A target, in the metric's unit; may be repeated.
            target_min: The lowest target of a grid.
            target_max: The highest target of a grid.
            n_targets: Number of targets in the grid, both ends included.
            spacing: linear: targets of the grid are spaced evenly; log: by even ratios.
        """
    def cite(self, *, workload: str | Sequence[str] | None = None) -> Result:
        """Return the answer of /v1/cite.

        How to cite the data of workloads: collection@release as text and BibTeX, with the DOI where one is stated.

        Args:
            workload: Cite the collections of this workload, or of those that a pattern matches; may be repeated.
                Default: all.
        """
    def results(
        self,
        *,
        fields: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        submission: str | Sequence[str] | None = None,
        suite: str | Sequence[str] | None = None,
        round: str | Sequence[str] | None = None,
        benchmark: str | Sequence[str] | None = None,
        organisation: str | Sequence[str] | None = None,
        accelerator: str | Sequence[str] | None = None,
        division: str | Sequence[str] | None = None,
        flag: str | Sequence[str] | None = None,
        flagged: Literal["include", "exclude", "only"] | None = None,
        workload: str | Sequence[str] | None = None,
        q: str | None = None,
    ) -> Result:
        """Return the answer of /v1/results.

        The submissions of MLPerf, each with its time by MLPerf's rules, its runs, its convergence, and flags.

        Args:
            fields: The columns to return, separated by commas; default: all.
            sort: Columns to sort by, comma-separated; minus reverses one. Null is last. Default: the newest round
                first, then by benchmark, division and time_s.
            limit: Rows per page. Default: no limit, everything at once.
            submission: Only this submission, as the column `submission` has it; may be repeated. Default: all.
            suite: Only submissions of this suite, mlperf-training or mlperf-hpc; may be repeated. Default: all.
            round: Only submissions of this round; may be repeated. Default: all.
            benchmark: Only submissions to this benchmark; may be repeated. Default: all.
            organisation: Only submissions of this organisation; may be repeated. Default: all.
            accelerator: Only submissions on this accelerator; may be repeated. Default: all.
            division: Only submissions of this division, closed, open or unknown; may be repeated. Default: all.
            flag: Only submissions with this flag, as the column `flags` has them; may be repeated. Default: all.
            flagged: exclude leaves out submissions with a flag, only lists just these.
            workload: Only submissions whose runs are of this workload, or of those that a pattern matches; may be
                repeated.
            q: Words that a submission must all have, in its name, accelerator, data set, model or optimizer.
        """
    def advice(
        self,
        workload: str | Sequence[str],
        *,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
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
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: all but INCOMPLETE, as new trials miss and
                diverge, too.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
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
            seeds: The steps of a setting, for best_setting: the median over its trials (of an even number, the
                lower one in the middle), or the mean, which no setting has of which a trial never reaches the
                target.
            collection: Only workloads of this collection; may be repeated. Default: all.
            dataset: Only workloads of this data set; may be repeated. Default: all.
            model: Only workloads of this model; may be repeated. Default: all.
            optimizer: Only workloads of this optimizer; may be repeated. Default: all.
        """
    def compare(
        self,
        workload: str | Sequence[str],
        *,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
        step_budget: int | None = None,
        example_budget: int | None = None,
        comparator: Literal["strict", "inclusive"] | None = None,
        target: float | None = None,
        result: Literal["best_trial", "best_setting"] | None = None,
        seeds: Literal["median", "mean"] | None = None,
        measure: Literal["steps", "examples", "epochs", "tokens", "flops", "seconds", "accelerator_seconds"]
        | None = None,
        examples_per_epoch: int | None = None,
        accelerators: int | None = None,
        tokens_per_example: float | None = None,
        n_parameters: int | None = None,
        flops_per_token: float | None = None,
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
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: COMPLETE and MISSED, which ran to their
                end.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
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
            seeds: The steps of a setting, for best_setting: the median over its trials (of an even number, the
                lower one in the middle), or the mean, which no setting has of which a trial never reaches the
                target.
            measure: The quantity in `amount`: steps; examples (step times batch size); epochs; tokens (examples
                times tokens_per_example); flops of training (tokens times flops_per_token, or 6 times the
                parameters of the model, which warnings say); seconds since the start of training, as logged with
                the evaluation; or accelerator_seconds (seconds times accelerators). The best trial is the one with
                the least of it.
            examples_per_epoch: For epochs: the examples in one. Default: as the logs say, if those of a workload
                agree.
            accelerators: For accelerator_seconds: how many each trial ran on. Default: as its log says.
            tokens_per_example: For tokens and flops: the tokens in one of what batch sizes count, unless these are
                tokens. Default: as the log or mapping of each trial says.
            n_parameters: For flops: the parameters of the model; 6 times as many FLOPs are counted for a token.
                Default: as the log or mapping of each trial says: flops_per_token, else 6 times
                n_active_parameters, n_parameters or n_parameters_non_embedding, the first that it states.
            flops_per_token: For flops: those of training on a token, forward and backward. It precedes
                n_parameters.
            baseline: The workload that the others are compared with; default: the first.
            budget: Tuning budget: the best of this many trials. Default: as many as all workloads have at that
                batch size.
        """
    def critical_batch_law(
        self,
        workload: str | Sequence[str],
        *,
        overhead: float | None = None,
        optimal_batch_size: float | None = None,
        result: Literal["best_trial", "best_setting"] | None = None,
        seeds: Literal["median", "mean"] | None = None,
        metric: str | None = None,
        by: Literal["mccandlish2018", "zhang2024"] | None = None,
        unit: Literal["tokens", "batch_unit"] | None = None,
        law: Literal["weighted", "equal", "linear"] | None = None,
        fit: Literal["robust", "least-squares"] | None = None,
    ) -> Result:
        """Return the answer of /v1/analysis/critical-batch-law.

        Laws of the critical batch size in model size, tokens and loss over workloads, beside published ones.

        Args:
            overhead: For zhang2024: the share of extra examples, over the optimal batch size, at the critical one.
            optimal_batch_size: For zhang2024: the batch size that the overhead is relative to, in the batch_unit of
                each workload; default: that paper's, for language models.
            result: best_trial: the trial that takes the least, as of a search. best_setting: the setting whose
                seeds take the least, as of repeated settings, where the best of more trials is better by chance.
                Default: best_setting where at least half of the trials are of settings of three trials or more;
                `results` says which.
            seeds: The steps of a setting, for best_setting: the median over its trials (of an even number, the
                lower one in the middle), or the mean, which no setting has of which a trial never reaches the
                target.
            workload: The workloads: collection/dataset/model/optimizer; may be repeated. `*` stands for any text
                within one of the four parts. Each workload that matches is a point by itself; they aren't pooled.
            metric: Only goals in this metric: split/quantity. Default: the first goal of each workload.
            by: The definition of the critical batch size, as of critical-batch-size: mccandlish2018 or zhang2024.
            unit: The unit of batch sizes: tokens, of workloads that state how many an example has; or the
                batch_unit of the workloads, if they have the same.
            law: weighted: points count by their intervals, and scatter beyond these; equal: plain least squares of
                logarithms; linear: plain least squares of batch sizes.
            fit: The fit of each point, as of critical-batch-size: robust or least-squares.
        """
    def critical_batch_size(
        self,
        workload: str | Sequence[str],
        *,
        overhead: float | None = None,
        optimal_batch_size: float | None = None,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
        step_budget: int | None = None,
        example_budget: int | None = None,
        comparator: Literal["strict", "inclusive"] | None = None,
        target: float | None = None,
        result: Literal["best_trial", "best_setting"] | None = None,
        seeds: Literal["median", "mean"] | None = None,
        fit: Literal["robust", "least-squares"] | None = None,
    ) -> Result:
        """Return the answer of /v1/analysis/critical-batch-size.

        The critical batch size of workloads with intervals, or bounds where the data support no estimate.

        Args:
            overhead: For zhang2024: the share of extra examples, over the optimal batch size, at the critical one.
            optimal_batch_size: For zhang2024: the batch size that the overhead is relative to, in the batch_unit of
                each workload; default: that paper's, for language models.
            workload: The workload: collection/dataset/model/optimizer. A collection may contain slashes. May be
                repeated. `*` stands for any text within one of the four parts: such a pattern pools the trials of
                all workloads that it matches by batch size, and `pooled` lists them. Ties then go to the first
                workload, then the lower trial_id.
            metric: The metric: split/quantity. Default: that of the workload's goal, as for target.
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: COMPLETE and MISSED, which ran to their
                end.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
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
            seeds: The steps of a setting, for best_setting: the median over its trials (of an even number, the
                lower one in the middle), or the mean, which no setting has of which a trial never reaches the
                target.
            fit: robust: Huber loss in log space, never-reached batch sizes too; least-squares: plain, as Zhang et
                al. 2024.
        """
    def doublings(
        self,
        workload: str | Sequence[str],
        *,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
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
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: COMPLETE and MISSED, which ran to their
                end.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
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
            seeds: The steps of a setting, for best_setting: the median over its trials (of an even number, the
                lower one in the middle), or the mean, which no setting has of which a trial never reaches the
                target.
        """
    def forecast(
        self,
        workload: str | Sequence[str],
        batch_size: int,
        curve: str | Sequence[str],
        *,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
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
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: all but INCOMPLETE, as new trials miss and
                diverge, too. INCOMPLETE is refused, since it isn't known how such trials would have ended.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
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
    def frontier(
        self,
        workload: str | Sequence[str],
        *,
        measure: Literal["steps", "examples", "epochs", "tokens", "flops", "seconds", "accelerator_seconds"]
        | None = None,
        examples_per_epoch: int | None = None,
        accelerators: int | None = None,
        tokens_per_example: float | None = None,
        n_parameters: int | None = None,
        flops_per_token: float | None = None,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
        step_budget: int | None = None,
        example_budget: int | None = None,
    ) -> Result:
        """Return the answer of /v1/analysis/frontier.

        The best value of every trial against steps, examples, tokens, FLOPs or time, with the Pareto front.

        Args:
            measure: The quantity in `amount`: steps; examples (step times batch size); epochs; tokens (examples
                times tokens_per_example); flops of training (tokens times flops_per_token, or 6 times the
                parameters of the model, which warnings say); seconds since the start of training, as logged with
                the evaluation; or accelerator_seconds (seconds times accelerators). The best trial is the one with
                the least of it.
            examples_per_epoch: For epochs: the examples in one. Default: as the logs say, if those of a workload
                agree.
            accelerators: For accelerator_seconds: how many each trial ran on. Default: as its log says.
            tokens_per_example: For tokens and flops: the tokens in one of what batch sizes count, unless these are
                tokens. Default: as the log or mapping of each trial says.
            n_parameters: For flops: the parameters of the model; 6 times as many FLOPs are counted for a token.
                Default: as the log or mapping of each trial says: flops_per_token, else 6 times
                n_active_parameters, n_parameters or n_parameters_non_embedding, the first that it states.
            flops_per_token: For flops: those of training on a token, forward and backward. It precedes
                n_parameters.
            workload: The workload: collection/dataset/model/optimizer. A collection may contain slashes. May be
                repeated. `*` stands for any text within one of the four parts: such a pattern pools the trials of
                all workloads that it matches by batch size, and `pooled` lists them. Ties then go to the first
                workload, then the lower trial_id.
            metric: The metric: split/quantity. Default: that of the workload's goal, as for target.
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: COMPLETE and MISSED, which ran to their
                end.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
            step_budget: Only evaluations at this step or before.
            example_budget: Only evaluations after at most this many examples: step times batch size.
        """
    def league(self, *, fields: str | None = None, collection: str | None = None) -> Result:
        """Return the answer of /v1/analysis/league.

        AlgoPerf's submissions: scores with intervals, verdicts on pairs, time and steps by workload.

        Args:
            fields: The columns to return, separated by commas; default: all.
            collection: The competition: a collection of AlgoPerf, which is one version and ruleset. Default: the
                first of the release. Submissions of different rulesets have different budgets and are never
                compared.
        """
    def loss_law(
        self,
        workload: str | Sequence[str],
        *,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
        step_budget: int | None = None,
        example_budget: int | None = None,
        points: Literal["final", "all"] | None = None,
        after: float | None = None,
        runs: Literal["best", "all"] | None = None,
        size: Literal["with", "without"] | None = None,
        compute: Literal["6ND", "stated"] | None = None,
        flops: float | Sequence[float] | None = None,
        draw: Literal["settings", "models"] | None = None,
        level: float | None = None,
    ) -> Result:
        """Return the answer of /v1/analysis/loss-law.

        The law of the loss by model size and tokens, with intervals, its compute optimum, and published laws
        beside.

        Args:
            workload: The workload: collection/dataset/model/optimizer. A collection may contain slashes. May be
                repeated. `*` stands for any text within one of the four parts: such a pattern pools the trials of
                all workloads that it matches by batch size, and `pooled` lists them. Ties then go to the first
                workload, then the lower trial_id.
            metric: The metric: split/quantity. Default: that of the workload's goal, as for target.
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: COMPLETE and MISSED, which ran to their
                end.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
            step_budget: Only evaluations at this step or before.
            example_budget: Only evaluations after at most this many examples: step times batch size.
            points: final: the last evaluation of each trial. all: every evaluation beyond `after`; those before the
                end of a decay of the learning rate have a higher loss than a training that ends there.
            after: For points=all: only evaluations beyond this share of the steps of their trial.
            runs: best: of trials of a workload with equal sizes and tokens, only those of the setting with the
                least final loss (the median over its seeds), since badly tuned ones say nothing about size. all:
                every trial.
            size: Parameters of a model with or without its embeddings.
            compute: FLOPs of training for the optimum. 6ND: 6 FLOPs for each parameter and token. stated: k N D,
                with k the median over trials of the FLOPs of a token that their logs state, by parameter.
            flops: A compute whose best size and tokens are wanted; may be repeated. Default: the largest of the
                trials.
            draw: The unit that the bootstrap draws as a whole. settings: trials that differ only in their seeds.
                models: all trials of a workload with one size, for runs that share a part of their training, or lie
                on one side of the law.
            level: The level of the intervals, two-sided.
        """
    def metaparameter_map(
        self,
        workload: str | Sequence[str],
        *,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
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
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: all.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
            step_budget: Only evaluations at this step or before.
            example_budget: Only evaluations after at most this many examples: step times batch size.
            comparator: strict: a value better than the target reaches it; inclusive: an equal value does, too.
                Default: that of the workload's goals in this metric; without any, strict.
            target: The target, in the metric's unit. NaN and infinities never reach it. Default: that of a goal in
                the metric that the workloads share; of several, the one that most of them have, then the first.
            batch_size: Only trials of this batch size, which every workload must have; may be repeated. Default:
                all.
        """
    def metaparameter_optima(
        self,
        workload: str | Sequence[str],
        *,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
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
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: COMPLETE and MISSED, which ran to their
                end.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
            step_budget: Only evaluations at this step or before.
            example_budget: Only evaluations after at most this many examples: step times batch size.
            comparator: strict: a value better than the target reaches it; inclusive: an equal value does, too.
                Default: that of the workload's goals in this metric; without any, strict.
            target: The target, in the metric's unit. NaN and infinities never reach it. Default: that of a goal in
                the metric that the workloads share; of several, the one that most of them have, then the first.
            within: Trials are near-optimal if their steps are at most 1 + within times those of their study's best.
            origin: The batch size whose best trial the heuristics start from; default: the smallest with a result.
        """
    def profiles(
        self,
        workload: str | Sequence[str],
        *,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
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
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: COMPLETE and MISSED, which ran to their
                end.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
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
    def quality(
        self,
        workload: str | Sequence[str],
        *,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
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
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: COMPLETE and MISSED, which ran to their
                end.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
            result: best_trial: the trial that takes the least, as of a search. best_setting: the setting whose
                seeds take the least, as of repeated settings, where the best of more trials is better by chance.
                Default: best_setting where at least half of the trials are of settings of three trials or more;
                `results` says which.
            seeds: The steps of a setting, for best_setting: the median over its trials (of an even number, the
                lower one in the middle), or the mean, which no setting has of which a trial never reaches the
                target.
            step_budget: Only evaluations at this step or before; may be repeated. Default, without any budget: the
                most steps, and the most examples, that every batch size was trained for.
            example_budget: Only evaluations after at most this many examples, step times batch size; may be
                repeated.
            last: Also read the curves of the best trials, for how they ended and for their test values.
        """
    def rcp(
        self,
        workload: str | Sequence[str],
        *,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
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
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: COMPLETE and MISSED, which ran to their
                end.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
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
    def recommend(
        self,
        parameters: float,
        tokens: float,
        *,
        loss: float | None = None,
        workload: str | Sequence[str] | None = None,
    ) -> Result:
        """Return the answer of /v1/analysis/recommend.

        Batch sizes and learning rates by published laws for a model size and number of tokens, with their ranges.

        Args:
            parameters: Parameters of the model, without embeddings.
            tokens: Tokens of the training.
            loss: The loss that it is to reach, for laws in the loss; default: none, and those laws have no value.
            workload: Stored workloads, or patterns, that laws are compared with; may be repeated. Default: all
                whose trials state the parameters of their model and the tokens of an example.
        """
    def records(
        self,
        *,
        fields: str | None = None,
        track: Literal["track_1_short", "track_2_medium", "track_3_optimization"] | None = None,
    ) -> Result:
        """Return the answer of /v1/analysis/records.

        The records of modded-nanogpt by date: steps, seconds and seeds, by the rule of each track.

        Args:
            fields: The columns to return, separated by commas; default: all.
            track: Only this track; default: all.
        """
    def regimes(
        self,
        workload: str | Sequence[str],
        *,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
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
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: COMPLETE and MISSED, which ran to their
                end.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
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
            seeds: The steps of a setting, for best_setting: the median over its trials (of an even number, the
                lower one in the middle), or the mean, which no setting has of which a trial never reaches the
                target.
            perfect_scaling_tau: Perfect scaling continues while examples are at most 1 + this times the fewest of
                any batch size.
            max_useful_tau: A batch size is large enough when no larger one improves its steps by more than this.
            undertuned_tau: A batch size is dominated with more than 1 + this times the examples of a larger one, or
                the steps of a smaller one, if its evaluations don't explain that. Default: 0.15 for best_setting, 1
                for best_trial, which is noisier.
        """
    def survival(
        self,
        workload: str | Sequence[str],
        *,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
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
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: all, since missed, diverged and stopped
                trials count as such.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
            step_budget: Only evaluations at this step or before.
            example_budget: Only evaluations after at most this many examples: step times batch size.
            comparator: strict: a value better than the target reaches it; inclusive: an equal value does, too.
                Default: that of the workload's goals in this metric; without any, strict.
            target: The target, in the metric's unit. NaN and infinities never reach it. Default: that of a goal in
                the metric that the workloads share; of several, the one that most of them have, then the first.
        """
    def target_sweep(
        self,
        workload: str | Sequence[str],
        *,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
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
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: COMPLETE and MISSED, which ran to their
                end.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
            step_budget: Only evaluations at this step or before.
            example_budget: Only evaluations after at most this many examples: step times batch size.
            comparator: strict: a value better than the target reaches it; inclusive: an equal value does, too.
                Default: that of the workload's goals in this metric; without any, strict.
            result: best_trial: the trial that takes the least, as of a search. best_setting: the setting whose
                seeds take the least, as of repeated settings, where the best of more trials is better by chance.
                Default: best_setting where at least half of the trials are of settings of three trials or more;
                `results` says which.
            seeds: The steps of a setting, for best_setting: the median over its trials (of an even number, the
                lower one in the middle), or the mean, which no setting has of which a trial never reaches the
                target.
            target_min: Lowest target. Default, also for the highest: from the hardest that any batch size reaches
                to the easiest that none reaches at its first evaluation.
            target_max: Highest target.
            n_targets: Number of targets.
            spacing: Spacing of targets: evenly among breakpoints, where the answer changes; linear; or log, by even
                ratios.
        """
    def time_cost(
        self,
        workload: str | Sequence[str],
        *,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
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
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: COMPLETE and MISSED, which ran to their
                end.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
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
            seeds: The steps of a setting, for best_setting: the median over its trials (of an even number, the
                lower one in the middle), or the mean, which no setting has of which a trial never reaches the
                target.
            max_useful_tau: A larger batch size counts as faster if it saves more than this share of the time of a
                smaller one.
        """
    def tuning_budget(
        self,
        workload: str | Sequence[str],
        *,
        metric: str | None = None,
        direction: Literal["minimize", "maximize"] | None = None,
        fields: str | None = None,
        trials: int | None = None,
        status: Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
        | Sequence[Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]]
        | None = None,
        flagged: Literal["exclude", "include"] | None = None,
        where: str | Sequence[str] | None = None,
        only_finished: bool | None = None,
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
            direction: Direction of better values; default: the metric's own.
            fields: The columns to return, separated by commas; default: all.
            trials: Of each study, only the first trials by trial_id, this many of an admitted status; default: all.
            status: Only trials of this status; may be repeated. Default: COMPLETE and MISSED, which ran to their
                end.
            flagged: include adds flagged trials, whose number of examples can't be right: they reach a goal with
                less than a quarter of the examples that neighbouring batch sizes allow, or the epochs of their log
                are too small. FROM flags in SQL lists them.
            where: Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of each
                name, one of its values has to hold.
            only_finished: true: only trials that were evaluated at the end of the schedule of their learning rate,
                or later. left_out counts the others, with those whose end isn't known; FROM trial_schedules in SQL
                lists them.
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
    def collections(
        self, *, fields: str | None = None, sort: str | None = None, limit: int | None = None, **filters: Any
    ) -> Result:
        """Return the answer of /v1/collections.

        The collections of a release, with licence and citation.

        Args:
            fields: The columns to return, separated by commas; default: all.
            sort: Columns to sort by, comma-separated; minus reverses one. NaN is above numbers, null last; ties:
                list order.
            limit: Rows per page. Default: 1,000 in JSON; in the other formats no limit, so everything at once.
            filters: by column, as REST takes them: collection, title, licence, citation, source_url
        """
    def workloads(
        self,
        *,
        fields: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        workload: str | Sequence[str] | None = None,
        q: str | None = None,
        **filters: Any,
    ) -> Result:
        """Return the answer of /v1/workloads.

        The workloads of a release, with batch sizes, metrics, goals.

        Args:
            fields: The columns to return, separated by commas; default: all.
            sort: Columns to sort by, comma-separated; minus reverses one. NaN is above numbers, null last; ties:
                list order.
            limit: Rows per page. Default: 1,000 in JSON; in the other formats no limit, so everything at once.
            workload: Only rows of this workload: collection/dataset/model/optimizer; may be repeated.
            q: Words that a workload must all have, in any spelling (resnet50 finds ResNet-50): in its names,
                display names, aliases, metrics and batch sizes, or in the rounds, organisations and systems of its
                trials.
            filters: by column, as REST takes them: collection, dataset, model, optimizer, batch_unit, batch_sizes,
                metrics, goals, n_studies, n_trials, n_complete, n_missed, n_incomplete, n_infeasible, n_evaluations
        """
    def studies(
        self,
        *,
        fields: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        workload: str | Sequence[str] | None = None,
        **filters: Any,
    ) -> Result:
        """Return the answer of /v1/studies.

        The studies of a release, with their search spaces.

        Args:
            fields: The columns to return, separated by commas; default: all.
            sort: Columns to sort by, comma-separated; minus reverses one. NaN is above numbers, null last; ties:
                list order.
            limit: Rows per page. Default: 1,000 in JSON; in the other formats no limit, so everything at once.
            workload: Only rows of this workload: collection/dataset/model/optimizer; may be repeated.
            filters: by column, as REST takes them: study, collection, dataset, model, optimizer, batch_size,
                batch_unit, train_steps, early_stopping, parameter_configs, metrics, n_trials, n_complete, n_missed,
                n_incomplete, n_infeasible, n_quarantined, n_evaluations, n_measurements, n_nonfinite, format,
                source, source_digest, content_digest, schedule
        """
    def trials(
        self,
        *,
        fields: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        workload: str | Sequence[str] | None = None,
        study: str | Sequence[str] | None = None,
        **filters: Any,
    ) -> Result:
        """Return the answer of /v1/trials.

        The trials of a release, with their metaparameters.

        Args:
            fields: The columns to return, separated by commas; default: all.
            sort: Columns to sort by, comma-separated; minus reverses one. NaN is above numbers, null last; ties:
                list order.
            limit: Rows per page. Default: 1,000 in JSON; in the other formats no limit, so everything at once.
            workload: Only rows of this workload: collection/dataset/model/optimizer; may be repeated.
            study: Only trials of this study: collection/dataset/model/optimizer/batch_size; may be repeated.
            filters: by column, as REST takes them: trial, collection, dataset, model, optimizer, batch_size,
                trial_id, status, steps, last_step, n_evaluations, n_nonfinite, parameters, attributes, source,
                source_sha256, content_digest, also_submitted
        """
    def metrics(
        self, *, fields: str | None = None, sort: str | None = None, limit: int | None = None, **filters: Any
    ) -> Result:
        """Return the answer of /v1/metrics.

        The metrics that a release knows, with direction and unit.

        Args:
            fields: The columns to return, separated by commas; default: all.
            sort: Columns to sort by, comma-separated; minus reverses one. NaN is above numbers, null last; ties:
                list order.
            limit: Rows per page. Default: 1,000 in JSON; in the other formats no limit, so everything at once.
            filters: by column, as REST takes them: metric, split, quantity, direction, unit, description
        """
    def goals(
        self,
        *,
        fields: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        workload: str | Sequence[str] | None = None,
        **filters: Any,
    ) -> Result:
        """Return the answer of /v1/goals.

        The goals of the workloads of a release, with their sources.

        Args:
            fields: The columns to return, separated by commas; default: all.
            sort: Columns to sort by, comma-separated; minus reverses one. NaN is above numbers, null last; ties:
                list order.
            limit: Rows per page. Default: 1,000 in JSON; in the other formats no limit, so everything at once.
            workload: Only rows of this workload: collection/dataset/model/optimizer; may be repeated.
            filters: by column, as REST takes them: collection, dataset, model, optimizer, metric, target,
                comparator, source
        """
    def contributors(
        self,
        *,
        fields: str | None = None,
        sort: str | None = None,
        limit: int | None = None,
        workload: str | Sequence[str] | None = None,
        **filters: Any,
    ) -> Result:
        """Return the answer of /v1/contributors.

        Who contributed to the studies of a release, with ORCID iDs.

        Args:
            fields: The columns to return, separated by commas; default: all.
            sort: Columns to sort by, comma-separated; minus reverses one. NaN is above numbers, null last; ties:
                list order.
            limit: Rows per page. Default: 1,000 in JSON; in the other formats no limit, so everything at once.
            workload: Only rows of this workload: collection/dataset/model/optimizer; may be repeated.
            filters: by column, as REST takes them: study, collection, dataset, model, optimizer, batch_size, name,
                orcid, role, contribution, n_trials
        """
    def releases(
        self, *, fields: str | None = None, sort: str | None = None, limit: int | None = None, **filters: Any
    ) -> Result:
        """Return the answer of /v1/releases.

        Every release of the lake, newest first.

        Args:
            fields: The columns to return, separated by commas; default: all.
            sort: Columns to sort by, comma-separated; minus reverses one. NaN is above numbers, null last; ties:
                list order.
            limit: Rows per page. Default: 1,000 in JSON; in the other formats no limit, so everything at once.
            filters: by column, as REST takes them: release, created_at, notes, content_digest, n_studies, n_trials,
                n_evaluations, n_measurements
        """
    def withdrawn(
        self, *, fields: str | None = None, sort: str | None = None, limit: int | None = None, **filters: Any
    ) -> Result:
        """Return the answer of /v1/withdrawn.

        The trials that were withdrawn after they were published, or erased. Those that release N still has have a
        `release_without` above N.

        Args:
            fields: The columns to return, separated by commas; default: all.
            sort: Columns to sort by, comma-separated; minus reverses one. NaN is above numbers, null last; ties:
                list order.
            limit: Rows per page. Default: 1,000 in JSON; in the other formats no limit, so everything at once.
            filters: by column, as REST takes them: trial, kind, at, reason, release_without, by, digest
        """
