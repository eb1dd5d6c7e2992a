"""The parameters that questions share: names, types, bounds and meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field

from losslake.analysis.best_setting import Seeds
from losslake.analysis.goal_region import WITHIN
from losslake.index.frontiers import COUNTED
from losslake.output.documented import Documented
from losslake.output.rows import shown
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.parsed_names import parse_workload
from losslake.questions.release.pool import is_pattern
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.confirmation import Crossing, CrossingName
from losslake.questions.trials.selection import Goal, ResultName, Selection
from losslake_schema import registry
from losslake_schema.names import LARGEST_INTEGER, Workload, natural_number, real_number
from losslake_schema.reached import Comparator
from losslake_schema.statuses import STATUSES, Status

FormatName = Literal["json", "csv", "arrow", "parquet"]
WORKLOAD = "bundled/digits/mlp_64/nesterov_momentum"
BATCH_UNIT = "batch_unit of the study, mostly examples"
MOST_PLACES = 200
MOST_CONDITIONS = 8


def _natural(text: object) -> object:
    """Parse a count of plain digits; pydantic alone would accept 1_000 and 5.0."""
    # Integers come from JSON and from the command line.
    if isinstance(text, (str, int)):
        value = natural_number(str(text))
        if value is None:
            raise ValueError(f"give a whole number from 0 to {LARGEST_INTEGER}, in digits")
        return value
    return text


Natural = Annotated[int, BeforeValidator(_natural)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
# A tolerance, as a share of what it is over.
Share = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]


def every_status() -> list[Status]:
    """Return every status, the default of questions about all trials."""
    return [*STATUSES]


def _counted() -> list[Status]:
    return [*COUNTED]


class Parameters(Documented):
    """Parameters, each documented by the docstring below it."""

    model_config = ConfigDict(frozen=True)


class FormatParameters(Parameters):
    """The format of an answer."""

    format: Annotated[FormatName | None, shown("csv")] = None
    """Format of the answer; default: from the header Accept or the ending of the path (.csv), else JSON."""


class FieldsParameters(Parameters):
    """The columns of an answer."""

    fields: Annotated[str, shown("batch_size,steps")] = ""
    """The columns to return, separated by commas; default: all."""


class PinnedParameters(Parameters):
    """The release of a question or a page."""

    release: Annotated[Natural | None, shown(1, ge=1)] = None
    """Number of the release; default: the newest. An answer of a named release never changes."""


class ReleaseParameters(PinnedParameters, FormatParameters):
    """The release of a question, and the format of its answer."""


class PageParameters(FieldsParameters, FormatParameters):
    """The rows, order, columns and page of a list."""

    sort: Annotated[str, shown("-release")] = ""
    """Columns to sort by, comma-separated; minus reverses one. NaN is above numbers, null last; ties: list order."""
    fields: Annotated[str, shown("release,created_at")] = ""
    """The columns to return, separated by commas; default: all."""
    limit: Annotated[Natural | None, shown(100, "rows", ge=1, le=100_000)] = None
    """Rows per page. Default: 1,000 in JSON; in the other formats no limit, so everything at once."""
    cursor: Annotated[str | None, shown("WzEsIjRmMjMiLFsiYnVuZGxlZCJdXQ")] = None
    """Start of the page: next_cursor of the previous one, or follow its Link header. It stays on its release."""


class DirectionParameters(Parameters):
    """The direction of a metric."""

    direction: Annotated[Literal["minimize", "maximize"] | None, shown("minimize")] = None
    """Direction of better values; default: the metric's own."""


class WorkloadParameters(ReleaseParameters):
    """Workloads, and their metric."""

    workload: Annotated[list[str], shown([WORKLOAD], min_length=1, max_length=MOST_PLACES)]
    """The workload: collection/dataset/model/optimizer. A collection may contain slashes. May be repeated.
    `*` stands for any text within one of the four parts: such a pattern pools the trials of all workloads that it
    matches by batch size, and `pooled` lists them. Ties then go to the first workload, then the lower trial_id."""
    metric: Annotated[str, shown("val/classification_error")] = ""
    """The metric: split/quantity. Default: that of the workload's goal, as for target."""


class MetricParameters(FieldsParameters, DirectionParameters, WorkloadParameters):
    """The trials that count, and their metric."""

    trials: Annotated[Natural | None, shown(50, "trials", ge=1)] = None
    """Of each study, only the first trials by trial_id, this many of an admitted status; default: all."""
    status: Annotated[list[Status], shown(["COMPLETE", "MISSED"])] = Field(default_factory=_counted)
    """Only trials of this status; may be repeated. Default: COMPLETE and MISSED, which ran to their end."""
    flagged: Annotated[Literal["exclude", "include"], shown("include")] = "exclude"
    """include adds flagged trials, whose number of examples can't be right: they reach a goal with less than a quarter
    of the examples that neighbouring batch sizes allow, or the epochs of their log are too small. FROM flags in SQL
    lists them."""
    where: Annotated[list[str], shown(["org=NVIDIA"], max_length=MOST_CONDITIONS)] = Field(default_factory=list)
    """Only trials with this metaparameter or fact of their logs: NAME=VALUE. May be repeated: of
    each name, one of its values has to hold."""
    only_finished: Annotated[bool, shown(True)] = False
    """true: only trials that were evaluated at the end of the schedule of their learning rate, or later. left_out
    counts the others, with those whose end isn't known; FROM trial_schedules in SQL lists them."""

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """The workloads, each once; raises BadParameter."""
        return tuple(dict.fromkeys(map(parse_workload, self.workload)))

    def with_goal(self, view: ReleaseView) -> Self:
        """Return these parameters with what they lack of a metric and a target, from a goal of their workloads.

        It is the first of those that most of these workloads have. A target is only taken from a goal that all share.
        Without a goal, a question that needs no target takes the only metric that is measured.
        Raises UnknownName and BadParameter.
        """
        lacks_target = isinstance(self, GoalParameters) and self.target is None
        if self.metric and not lacks_target:
            return self
        if not self.metric and not isinstance(self, GoalParameters):
            facts = [each for workload in self.workloads for each in view.matching(workload)]
            measured = {name for each in facts for name in each.measured}
            if len(measured) == 1 and not any(view.goals_of(each.workload) for each in facts):
                return self.model_copy(update={"metric": measured.pop()})
        goal = _default_goal(view, self.workloads, self.metric, lacks_target)
        return self.model_copy(update={"metric": goal.metric, **({"target": goal.target} if lacks_target else {})})

    def selection(self) -> Selection:
        """Return the selected evaluations; raises BadParameter."""
        kinds = [kind for kind in (BudgetParameters, ResultParameters) if isinstance(self, kind)]
        return Selection(
            workloads=self.workloads,
            metric=self.metric,
            direction=self.direction,
            trials=self.trials,
            statuses=tuple(self.status),
            flagged=self.flagged,
            where=tuple(self.where),
            only_finished=self.only_finished,
            **{name: getattr(self, name) for kind in kinds for name in kind.model_fields},
        )


class ResultParameters(Parameters):
    """The result of a study."""

    result: Annotated[ResultName | None, shown("best_setting")] = None
    """best_trial: the trial that takes the least, as of a search. best_setting: the setting whose seeds take the least,
    as of repeated settings, where the best of more trials is better by chance. Default: best_setting where at least
    half of the trials are of settings of three trials or more; `results` says which."""
    seeds: Annotated[Seeds, shown("mean")] = "median"
    """The steps of a setting, for best_setting: the median over its trials (of an even number, the lower one in the
    middle), or the mean, which no setting has of which a trial never reaches the target."""


class BudgetParameters(Parameters):
    """The budgets of evaluations."""

    step_budget: Annotated[Natural | None, shown(1000, "steps")] = None
    """Only evaluations at this step or before."""
    example_budget: Annotated[Natural | None, shown(100000, BATCH_UNIT)] = None
    """Only evaluations after at most this many examples: step times batch size."""


class SelectionParameters(BudgetParameters, MetricParameters):
    """The trials and evaluations that count."""


class ComparatorParameters(SelectionParameters):
    """The comparison that reaches a target."""

    comparator: Annotated[Comparator | None, shown("inclusive")] = None
    """strict: a value better than the target reaches it; inclusive: an equal value does, too. Default: that of the
    workload's goals in this metric; without any, strict."""

    @property
    def known_comparator(self) -> Comparator:
        """The comparator, which `with_goal` sets."""
        assert self.comparator is not None
        return self.comparator

    def with_goal(self, view: ReleaseView) -> Self:
        """Return these parameters with what they lack of a metric, a target and a comparator.

        Raises UnknownName, and BadParameter if the goals of the workloads differ in comparator.
        """
        completed = super().with_goal(view)
        if completed.comparator:
            return completed
        return completed.model_copy(update={"comparator": completed._default_comparator(view)})

    def _default_comparator(self, view: ReleaseView) -> Comparator:
        defaults = {each for workload in self.workloads for each in view.comparators(workload, self.metric)}
        if len(defaults) > 1:
            why = "the goals of these workloads differ in comparator: give comparator=strict or comparator=inclusive"
            raise BadParameter("comparator", why)
        return defaults.pop()


class BatchSizeParameters(Parameters):
    """The batch sizes of the trials."""

    batch_size: Annotated[list[Natural], shown([64], BATCH_UNIT, max_length=MOST_PLACES)] = Field(default_factory=list)
    """Only trials of this batch size, which every workload must have; may be repeated. Default: all."""


class TargetParameters(Parameters):
    """A target."""

    target: Annotated[Finite | None, shown(0.05, "unit of the metric")] = None
    """The target, in the metric's unit. NaN and infinities never reach it. Default: that of a goal in the metric that
    the workloads share; of several, the one that most of them have, then the first."""


class GoalParameters(TargetParameters, ComparatorParameters):
    """A metric, and a target of it."""

    def with_goal(self, view: ReleaseView) -> Self:
        """Return these parameters with what they lack, as above; raises BadParameter for a target out of range, too."""
        completed = super().with_goal(view)
        check_targets(completed.metric, target=self.target)
        return completed

    @property
    def goal(self) -> Goal:
        """The goal, which `with_goal` completes."""
        assert self.target is not None
        return Goal(self.target, self.known_comparator)


class WithinParameters(GoalParameters):
    """A target, and the tolerance of near-optimal trials."""

    within: Annotated[Share, shown(0.1, "none: a ratio")] = WITHIN
    """Trials are near-optimal if their steps are at most 1 + within times those of their study's best."""


class CrossingParameters(GoalParameters):
    """A target, and the hit of it that counts."""

    crossing: Annotated[CrossingName, shown("sustained")] = "first"
    """The hit that the columns `confirmed_…` count: the first, even a noisy dip; the first of k_consecutive hits; the
    first after which all are hits (sustained); or the first of the mean curve of a setting (mean), of steps at which
    all of its trials have a finite value. All but the first read the curves and take longer."""
    k: Annotated[Natural | None, shown(3, "evaluations", ge=1)] = None
    """For crossing=k_consecutive: hits in a row; default: 2. Values that are not numbers are left out."""
    margin: Annotated[Finite | None, shown(0.004, "unit of the metric", ge=0)] = None
    """For crossing=mean: above 0, the mean of n trials is a hit if it is better than the target by margin / sqrt(n) or
    more, as in the third track of modded-nanogpt; default: 0, the comparator alone."""

    def crossing_rule(self) -> Crossing:
        """Return the rule by which a hit is the crossing; raises BadParameter."""
        return Crossing(self.crossing, self.k, self.margin)


def checked_fields(owner: str, text: str, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a text as `fields` takes it, each once; raises BadParameter for others than these."""
    names = tuple(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in columns:
            raise BadParameter("fields", f"{owner} has no column '{name}': give one or more of {', '.join(columns)}")
    return names


def numbers_by_key(
    parameter: str, texts: Sequence[str], noun: str, form: str, is_valid: Callable[[int, float], bool] = lambda *_: True
) -> dict[int, float]:
    """Return the numbers that texts KEY=NUMBER give, by key; raises BadParameter.

    noun: of a key. form: how a text is to be given.
    """
    numbers: dict[int, float] = {}
    for text in texts:
        key_text, _, number_text = text.partition("=")
        key, number = natural_number(key_text.strip()), real_number(number_text)
        if key is None or number is None or not is_valid(key, number):
            raise BadParameter(parameter, f"{parameter}={text}: give {form}")
        if key in numbers:
            raise BadParameter(parameter, f"{parameter}: {noun} {key} is given twice: give it once")
        numbers[key] = number
    return numbers


def check_targets(metric: str, **targets: float | None) -> None:
    """Raise BadParameter for a target that no log can reach, since the metric never has such a value.

    targets: by the name of their parameter; None for one that isn't given.
    """
    definition = registry.metrics().get(metric)
    for parameter, target in targets.items():
        if definition is not None and target is not None and not definition.can_reach(target):
            meant = definition.meant_by(target)
            do = f"give a target there, not {target:g}" if meant is None else f"did you mean {meant:g}?"
            raise BadParameter(parameter, f"{definition.range_in_words}: {do}")


def _default_goal(view: ReleaseView, workloads: Sequence[Workload], metric: str, is_shared: bool) -> registry.Goal:
    """Return the goal that a question without one is about: of the first workload's, the one that most have.

    metric: of the goal; empty for any. is_shared: only goals that all have. Raises UnknownName and BadParameter.
    """
    named = [{facts.workload for facts in view.matching(workload)} for workload in workloads]
    goals = [goal for workload in sorted(set().union(*named)) for goal in view.goals_of(workload, metric)]
    owners: dict[tuple[str, float], set[Workload]] = {}
    for goal in goals:
        owners.setdefault((goal.metric, goal.target), set()).add(goal.workload)

    def n_having(goal: registry.Goal) -> int:
        of_goal = owners[goal.metric, goal.target]
        return (
            0 if is_shared and not all(of_goal & each for each in named) else sum(len(of_goal & each) for each in named)
        )

    best = max((goal for goal in goals if goal.workload in named[0]), key=n_having, default=None)
    if best is None or not n_having(best):
        for workload in workloads if metric else ():
            view.measuring(workload, metric)
        missing = "target=" if metric else "metric= and target=" if is_shared else "metric="
        measured = {name for each in named for workload in each for name in view.workloads[workload].measured}
        lacks = f"{workloads[0]} has no goal" if len(named) == 1 else "these workloads have no goal in common"
        where = f"in {metric}" if metric else f"as a default; metrics are {', '.join(sorted(measured))}"
        raise BadParameter(missing.partition("=")[0], f"give {missing}: {lacks} {where}")
    return best


def is_of_one_workload(parameters: SelectionParameters) -> bool:
    """Return True for one workload, not a pattern, in the direction for which records are stored."""
    return len(parameters.workload) == 1 and parameters.direction is None and not is_pattern(parameters.workload[0])
