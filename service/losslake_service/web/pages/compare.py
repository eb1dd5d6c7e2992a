"""The page that compares workloads: which one reaches a target sooner, at which batch sizes, how certainly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from losslake.figures.charts.frontier import ColourBy
from losslake.questions import compare, scaling
from losslake.questions.declaration.parameters import MOST_CONDITIONS, Natural
from losslake.questions.declaration.summary import results_in_words
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.known_names import labels_of
from losslake.questions.release.parsed_names import parse_workload
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.batch_size_words import joined
from losslake.questions.trials.selection import Selection
from losslake.questions.trials.step_amounts import measure_noun
from losslake.questions.trials.trials_where import conditions_in_words, trials_where
from losslake_schema.names import Study, Workload
from losslake_schema.quantities import capitalized
from losslake_service.web.caveats import caveats
from losslake_service.web.chart import Chart
from losslake_service.web.code_lines import statement
from losslake_service.web.comparison.best_trials import best_trials, curves_of_best
from losslake_service.web.comparison.frontier import frontier_page
from losslake_service.web.comparison.obstacles import Offer, no_common_metric, no_common_size, offers
from losslake_service.web.goals import PageGoal, common_goal, goals_of, metrics_of, page_goal
from losslake_service.web.measures import CountedParameters, OfferedMeasure, batch_unit, measured, offered_measures
from losslake_service.web.page import Page, PageKind, PageRequest
from losslake_service.web.starting_example import group_by_model
from losslake_service.web.templates import first_few

_MOST_SUGGESTED = 8
_MOST_NAMES = 1000
# Optimizers that a suggestion names.
_MOST_NAMED = 5
_LONGEST_TITLE = 120
_LONGEST_DESCRIPTION = 300
_PLAINEST = ("sgd", "momentum", "nesterov_momentum", "nesterov")
# With fewer batch sizes nothing bends, so there are no charts by batch size.
_FEWEST_FOR_SCALING = 3
_IN_WORDS: Mapping[str | None, str] = {
    "fewer": "fewer {noun}",
    "more": "more {noun}",
    "not told": "no clear difference",
    "too few trials": "too few trials to tell",
    "one submitter": "not judged: one submitter",
    "neither reaches": "neither reaches it",
}
ComparisonRow = dict[str, Any]
# The text and the address of a comparison.
Suggestion = tuple[str, str]


class ComparePageParameters(compare.BaselineParameters, CountedParameters):
    """The query of the page. The default goal is the first one that all workloads measure."""

    workload: Annotated[list[str], Field(default_factory=list)]
    """The workloads to compare."""
    where: Annotated[list[str], Field(default_factory=list, max_length=MOST_CONDITIONS)]
    """Only trials of which this holds, as for questions: NAME=VALUE; may be repeated. Then there are no verdicts."""
    scale: Literal["steps", "relative"] = "steps"
    """Show steps, or steps relative to those at the smallest common batch size, in the scaling chart."""
    dataset: str | None = None
    """Compare all trials on this data set instead, by their best values; `*`: the one with the most trials."""
    colour: ColourBy = "model"
    """The meaning of colours, of the trials on a data set."""
    at: Annotated[Natural | None, Field(ge=1)] = None
    """The batch size of the training curves; default: the largest common one."""


@dataclass(frozen=True)
class CompareRequest:
    """A comparison. facts: of the workloads. metrics: those with a known direction that all workloads measure."""

    page: PageRequest
    parameters: ComparePageParameters
    workloads: tuple[Workload, ...]
    facts: Sequence[WorkloadFacts]
    baseline: Workload
    goal: PageGoal
    metrics: Sequence[str]

    @property
    def counted(self) -> dict[str, Any]:
        """The parameters of what is counted; none for steps."""
        return measured(self.parameters)

    @property
    def noun(self) -> str:
        """The measure in words: steps, examples, FLOPs, accelerator-seconds."""
        return measure_noun(self.parameters.measure)

    @property
    def of_goal(self) -> dict[str, Any]:
        """The parameters of an answer about these workloads and the goal."""
        where = {"where": [*self.parameters.where]} if self.parameters.where else {}
        return {"workload": [*map(str, self.workloads)], **self.goal.parameters, **self.comparator, **where}

    @property
    def comparator(self) -> dict[str, Any]:
        """The parameter `comparator`, if the goals of the workloads have different ones; else nothing."""
        view, metric = self.page.view, self.goal.metric
        usual = {each for workload in self.workloads for each in view.comparators(workload, metric)}
        return {"comparator": self.goal.comparator} if len(usual) > 1 else {}

    def url(self, workloads: Sequence[Workload] | None = None, **changed: object) -> str:
        """Return the address of this page with changes."""
        requested = self.parameters
        chosen = self.workloads if workloads is None else workloads
        state: dict[str, object] = {
            "workload": chosen,
            "baseline": self.baseline if self.baseline in chosen and requested.baseline else None,
            **requested.goal,
            "budget": requested.budget,
            "scale": requested.scale if requested.scale != "steps" else None,
            "at": requested.at,
            "where": requested.where,
        }
        return self.page.url("/compare", **(state | changed))

    def chart(self, kind: str, query: Mapping[str, object], title: str, sql: str, is_sql_behind: bool = True) -> Chart:
        """Return a chart about the workloads. sql: the name of a statement."""
        text = statement(sql, **self.goal.with_comparator, workloads=tuple(map(astuple, self.workloads)))
        if self.parameters.where:
            text = ""
        return self.page.chart(kind, query, title, sql=text, is_sql_behind=is_sql_behind)


def compare_page(page: PageRequest) -> Page:
    """Return the page; raises BadParameter and UnknownName."""
    if page.parameters.dataset is not None:
        return frontier_page(page)
    names = [str(each) for each in list(page.view.listed)[:_MOST_NAMES]]
    workloads = _workloads(page)
    if not workloads:
        return Page(
            template="compare.html",
            title="Compare workloads",
            description="Which optimizer or model reaches a target sooner, at which batch sizes, and how sure that is.",
            url=page.url("/compare"),
            content={
                "chosen": (),
                "suggestions": _to_begin_with(page),
                "names": names,
                "comparison": None,
                "datasets": sorted({each.dataset for each in page.view.listed}),
            },
        )
    where = tuple(page.parameters.where)
    facts = [page.view.workload(each) for each in workloads]
    for each in facts:
        # Raises BadParameter for what no trial of it has.
        trials_where(page.view, each, where)
    common, labels = labels_of(workloads)
    title = f"Compare {joined(labels)}" + (f": {common}" if common and len(labels) > 1 else "")
    title = title if len(title) <= _LONGEST_TITLE else f"Compare {len(workloads)} workloads"
    above = (("Curves", page.url("/workloads")),)
    metrics = metrics_of(page.view, *facts)
    if not metrics:
        sentences = no_common_metric(facts, labels, page.view)
        return Page(
            template="incomparable.html",
            title=title,
            description=" ".join(sentences)[:_LONGEST_DESCRIPTION],
            url=page.url("/compare", workload=workloads),
            content={
                "sentences": sentences,
                "offers": _offered(page, offers(page.view, facts, needs_size=False)),
                "workloads": [(label, page.page_url(each)) for label, each in zip(labels, workloads, strict=True)],
            },
            above=above,
        )
    request = _request(page, workloads, facts, metrics)
    comparison = _comparison(request, labels)
    chosen = [_chosen(request, each, label) for each, label in zip(workloads, labels, strict=True)]
    picture = comparison["ratio"] or comparison["curves"] or comparison["scaling"]
    sentences = [f"{capitalized(request.noun)} to {request.goal.text} by batch size.", *comparison["sentences"]]
    return Page(
        template="compare.html",
        title=title,
        description=" ".join(sentences)[:_LONGEST_DESCRIPTION],
        url=request.url(),
        content={
            "chosen": chosen,
            "labels": {each["name"]: each["label"] for each in chosen},
            "suggestions": _to_add(request),
            "names": names,
            "comparison": comparison,
        },
        picture=picture,
        above=above,
        styles=("study.css",),
        data=picture.data("json") if picture else None,
    )


def _workloads(page: PageRequest) -> tuple[Workload, ...]:
    """Return the workloads to compare; raises BadParameter."""
    requested: ComparePageParameters = page.parameters
    workloads = tuple(dict.fromkeys(parse_workload(name) for name in requested.workload))
    if len(workloads) > compare.MOST_COMPARED:
        raise BadParameter(
            "workload", f"give at most {compare.MOST_COMPARED} workloads to compare, not {len(workloads)}"
        )
    return workloads


def _request(
    page: PageRequest, workloads: tuple[Workload, ...], facts: Sequence[WorkloadFacts], metrics: Sequence[str]
) -> CompareRequest:
    """Return the comparison; raises BadParameter and UnknownName."""
    requested: ComparePageParameters = page.parameters
    baseline = workloads[0] if requested.baseline is None else parse_workload(requested.baseline)
    if baseline not in workloads:
        raise BadParameter("baseline", f"{baseline} is not one of the workloads to compare: add it first")
    if requested.metric is not None:
        for each in facts:
            page.view.metric(each, requested.metric)
    return CompareRequest(page, requested, workloads, facts, baseline, _goal(page, facts, metrics), metrics)


def _offered(page: PageRequest, offered: Sequence[Offer]) -> list[Suggestion]:
    return [(text, page.url("/compare", workload=list(workloads))) for text, workloads in offered]


def _goal(page: PageRequest, facts: Sequence[WorkloadFacts], metrics: Sequence[str]) -> PageGoal:
    requested: ComparePageParameters = page.parameters
    names = [requested.metric] if requested.metric is not None else metrics
    if requested.target is None:
        for each in facts:
            goal = next((goal for goal in goals_of(page.view, each) if goal.metric in names), None)
            if goal is not None:
                return goal
    if requested.target is not None or page.view.metrics[names[-1]].direction is None:
        return page_goal(page.view, facts[0], names[-1], requested.target)
    return common_goal(page.view, facts, names[-1])


def _comparison(request: CompareRequest, labels: Sequence[str]) -> dict[str, Any]:
    """Return the comparison for the template."""
    goal, baseline, page = request.goal, request.baseline, request.page
    facts, rows = _answer(request)
    sizes = _sizes(request, rows)
    common = sorted(set.intersection(*(set(each.fixed_sizes) for each in request.facts)))
    # Relative steps start at the first batch size at which every workload reaches the target after step 0.
    reached = [size for size, rows in sizes if all(row["amount"] for row in rows)]
    start = None if request.counted else next(iter(reached), None)
    at = request.parameters.at or next(reversed(reached or common), None)
    if at is not None and at not in common:
        raise BadParameter("at", f"at={at}: the workloads have no such batch size in common")
    ratio, profile, by_size = None, None, None
    is_judged = not request.parameters.where
    if is_judged and len(request.workloads) > 1 and len(common) >= _FEWEST_FOR_SCALING:
        query = {**request.of_goal, **request.counted, "baseline": str(baseline), "budget": request.parameters.budget}
        title = f"{capitalized(request.noun)} to {goal.text}, relative to {baseline}, by batch size"
        ratio = request.chart("ratio", query, title, "trials_of_workloads")
        if not request.counted:
            title = f"Performance profile: how often each reaches {goal.text} within a factor of the fewest steps"
            profile = request.chart("profile", request.of_goal, title, "trials_of_workloads")
    if max(len(each.fixed_sizes) for each in request.facts) >= _FEWEST_FOR_SCALING:
        by_size = _scaling_chart(request, start)
    how = {**request.comparator, **request.counted, "where": request.parameters.where}
    trials = best_trials(page.view, request.workloads, goal, how, at)
    has_none = len(request.workloads) > 1 and not common
    return {
        "goal": goal,
        "noun": request.noun,
        "units": _units(request, labels),
        "metrics": request.metrics,
        "baseline_label": labels[request.workloads.index(baseline)],
        "sentences": no_common_size(request.facts, labels)
        if has_none
        else [c["in_words"] for c in facts.get("conclusions", ())],
        "where": conditions_in_words(request.parameters.where),
        "without_where_url": request.url(where=None),
        "offers": _offered(page, offers(page.view, request.facts, needs_size=True)) if has_none else [],
        "warnings": [] if has_none else caveats(facts),
        "means": facts.get("geometric_means", ()),
        "least": results_in_words(facts, request.noun),
        "measures": _measures(request),
        "measured": request.counted,
        "kept": [
            *(("workload", each) for each in request.workloads),
            *request.parameters.kept_uncounted("workload", "where"),
            *(("where", each) for each in request.parameters.where),
            ("release", page.pinned),
        ],
        "sizes": sizes,
        "start": start,
        "steps_url": request.url(scale=None),
        "relative_url": request.url(scale="relative"),
        "scaling": by_size,
        "ratio": ratio,
        "profile": profile,
        "curves": curves_of_best(page, trials, goal, request.counted, request.noun) if trials else None,
        "at": at,
        "ats": [(size, request.url(at=size) + "#curves-heading") for size in common],
        "definition": facts.get("definition", ""),
    }


def _measures(request: CompareRequest) -> list[OfferedMeasure]:
    """Return what the page can count in."""
    selection = Selection(request.workloads, request.goal.metric)
    return list(offered_measures(request.page.view, selection, request.counted, request.url))


def _units(request: CompareRequest, labels: Sequence[str]) -> tuple[str, str]:
    """Return what batch sizes count, empty for examples, and in a sentence that they count different things."""
    units = [batch_unit(request.page.view, each) for each in request.facts]
    if len(set(units)) > 1:
        each = joined([f"{unit} ({label})" for label, unit in zip(labels, units, strict=True)])
        return "", f"Batch sizes count different things, so equal ones aren't alike: {each}."
    return ("" if units[0] == "examples" else units[0]), ""


def _scaling_chart(request: CompareRequest, start: int | None) -> Chart:
    """Return what is counted by batch size; steps relative to those at `start` where that is requested and can be."""
    query, title = request.of_goal | request.counted, f"{capitalized(request.noun)} to {request.goal.text}"
    if request.parameters.scale == "relative" and start is not None:
        query["normalize_to"] = start
        title += f", relative to those at batch size {start}"
    return request.chart("scaling", query, f"{title}, by batch size", "results_of_workloads", is_sql_behind=False)


def _answer(request: CompareRequest) -> tuple[Mapping[str, Any], list[ComparisonRow]]:
    """Return the facts and rows of the comparison; of some trials only those of scaling, since verdicts need all."""
    query, view = request.of_goal | request.counted, request.page.view
    if request.parameters.where:
        scaled = scaling.QUESTION.answer(view, scaling.ScalingParameters(**query))
        unjudged = dict.fromkeys(("ratio", "ratio_lower", "ratio_upper", "difference"))
        return scaled.facts, [row | unjudged for row in scaled.table().to_pylist()]
    query |= {"baseline": str(request.baseline), "budget": request.parameters.budget}
    answer = compare.QUESTION.answer(view, compare.CompareParameters(**query))
    return answer.facts, answer.table().to_pylist()


def _sizes(request: CompareRequest, listed: Sequence[ComparisonRow]) -> list[tuple[int, list[ComparisonRow]]]:
    """Return each batch size with a row for each workload. listed: rows of the answer."""
    rows = {(row["batch_size"], row["workload"]): row for row in listed}
    return [
        (size, [_at(request, workload, size, rows.get((size, str(workload)))) for workload in request.workloads])
        for size in sorted({size for size, _ in rows if size})
    ]


def _at(request: CompareRequest, workload: Workload, size: int, row: ComparisonRow | None) -> ComparisonRow:
    """Return the row of a workload with the address of its study and the difference in words."""
    if row is None:
        return {"url": "", "amount": None, "ratio": None, "words": ""}
    return row | {
        "url": request.page.page_url(Study(workload, size), **request.goal.parameters, **request.counted),
        "ratio": row["ratio"] if workload != request.baseline else None,
        "words": _IN_WORDS.get(row["difference"], "").format(noun=request.noun),
    }


def _chosen(request: CompareRequest, workload: Workload, label: str) -> dict[str, Any]:
    """Return a workload with the addresses of the page without it, and with it as the baseline."""
    return {
        "name": str(workload),
        "label": label,
        "url": request.page.page_url(workload, **request.goal.parameters, **request.counted),
        "without_url": request.url([other for other in request.workloads if other != workload], at=None),
        "as_baseline_url": request.url(baseline=workload),
        "is_baseline": workload == request.baseline,
    }


def _to_add(request: CompareRequest) -> list[Suggestion]:
    """Return other workloads of the data set that measure the metric, most similar first."""
    first = request.workloads[0]
    others = [
        each
        for each, facts in request.page.view.listed.items()
        if each not in request.workloads and each.dataset == first.dataset and request.goal.metric in facts.measured
    ]
    others.sort(key=lambda each: (each.model != first.model, each.optimizer != first.optimizer, each))
    nearest = others[:_MOST_SUGGESTED]
    _, labels = labels_of([*request.workloads, *nearest])
    added = labels[len(request.workloads) :]
    return [
        (label, request.url((*request.workloads, each), at=None)) for label, each in zip(added, nearest, strict=True)
    ]


def _to_begin_with(page: PageRequest) -> list[Suggestion]:
    """Return comparisons of the optimizers of a data set and model, those with most common batch sizes first."""
    groups: list[tuple[int, int, list[Workload]]] = []
    for workloads in group_by_model(page.view).values():
        group = sorted(workloads, key=_plainness)[: compare.MOST_COMPARED]
        n_common = len(set.intersection(*(set(page.view.workloads[each].fixed_sizes) for each in group)))
        if len(group) > 1 and n_common:
            groups.append((-n_common, len(groups), group))
    suggestions = []
    for _, _, group in sorted(groups)[:_MOST_SUGGESTED]:
        common, labels = labels_of(group)
        url = page.url("/compare", workload=group)
        suggestions.append((f"{common}: {first_few(labels, _MOST_NAMED)}", url))
    return suggestions


def _plainness(workload: Workload) -> tuple[int, str]:
    name = workload.optimizer
    return (_PLAINEST.index(name) if name in _PLAINEST else len(_PLAINEST), name)


COMPARE = PageKind("/compare", ComparePageParameters, compare_page)
