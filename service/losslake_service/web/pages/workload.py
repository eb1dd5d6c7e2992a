"""The page of a workload: steps to a target by batch size, and the analyses of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from losslake.questions import regimes, scaling
from losslake.questions.cite import cite
from losslake.questions.declaration.parameters import BudgetParameters, SelectionParameters
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.known_names import display_name, heading_of
from losslake.questions.release.parsed_names import parse_workload
from losslake.questions.release.pool import ANY
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.trials_where import conditions_in_words, facts_of_trials, trials_where
from losslake_schema.names import Workload
from losslake_schema.quantities import capitalized, plural
from losslake_schema.registry import metric_named
from losslake_service.web.bare_page import SITE
from losslake_service.web.chart import Chart
from losslake_service.web.goals import as_fraction, goals_of
from losslake_service.web.measures import measured, offered_measures
from losslake_service.web.own_run import own_run
from losslake_service.web.page import Content, Page, PageKind, PageRequest
from losslake_service.web.studies.metaparameters import identity_of_runs
from losslake_service.web.templates import with_query
from losslake_service.web.workload.advice_section import advice_section
from losslake_service.web.workload.answer_words import answer_sentences, caveats
from losslake_service.web.workload.batch_size_tables import budget_section, study_rows
from losslake_service.web.workload.key_figures import AnswerRow, key_figures, row_of_target
from losslake_service.web.workload.request import (
    WorkloadParameters,
    WorkloadRequest,
    main_chart,
    page_metric,
    workload_request,
)
from losslake_service.web.workload.slider import STOPS, slider, stops

_LONGEST_DESCRIPTION = 300
# Beyond, a line for each batch size can't be told from the others.
_MOST_SIZES_OF_LINES = 10
_MOST_OTHERS = 12
_MOST_CHOICES = 100
# Facts of trials as the form names them, where their names aren't words.
_FACETS = {"org": "Organisation", "submission_org": "Organisation", "submission_platform": "System"}
_ADVISED = ("step_times", "price", "trial_accelerators", "budget")
_MEDIA_TYPES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet", "json": "application/json"}


def workload_page(page: PageRequest) -> Page:
    """Return the page of the workload that the path names; raises BadParameter and UnknownName."""
    facts = _facts(page, parse_workload(page.name))
    request = workload_request(page, facts)
    workload, parameters = facts.workload, page.parameters
    title = heading_of(workload)
    sizes = facts.fixed_sizes
    description = f"Training curves of {workload} at {len(sizes)} {plural('batch size', len(sizes))}."
    answer, main = None, None
    if request is not None:
        main = main_chart(request)
        sentences, answer = _answer(request, main)
        description = _description(request, sentences)
    names = ("metric", "target", "direction", *BudgetParameters.model_fields)
    state = {name: getattr(parameters, name) for name in names} | measured(parameters)
    state |= {name: getattr(parameters, name) or None for name in _ADVISED}
    state["where"] = parameters.where
    return Page(
        template="workload.html",
        title=title,
        description=description,
        url=page.page_url(workload, **state),
        content={
            "workload": workload,
            "members": [] if facts.workloads == (workload,) else facts.workloads,
            "batch_sizes": sizes,
            "schedule": page.view.schedule_name(facts) if facts.has_schedules else "",
            "n_trials": len(facts.trials.trial_id),
            "metric": request.goal.metric if request else page_metric(page, facts),
            "metrics": facts.measured,
            "goals": goals_of(page.view, facts),
            "answer": answer,
            "own_run": own_run(page.view, workload, None, request.goal.metric, request.goal, request.where)
            if request and not request.is_pool and facts.fixed_sizes
            else None,
            "cited": cite(page.view, [workload], page.address),
        },
        picture=main,
        above=(("Curves", page.url("/workloads")),),
        styles=("workload.css", "live_figure.css"),
        scripts=("workload.js",) if answer else (),
        json_ld=_json_ld(request, main, title, description) if request and main else "",
        withdrawn=page.withdrawn(workload),
        data=main.data("json") if main else None,
    )


def _facts(page: PageRequest, named: Workload) -> WorkloadFacts:
    """Return the workload of that name, or the pool of those that a pattern matches and that measure the page's metric.

    Default: the metric of the first goal of any of them, or of the first of them.
    """
    matching = page.view.matching(named)
    if matching[0].workload == named:
        return matching[0]
    requested: WorkloadParameters = page.parameters
    goals = (goal.metric for facts in matching for goal in goals_of(page.view, facts))
    metrics = (metric for facts in matching if (metric := page_metric(page, facts)) is not None)
    metric = requested.metric or next(goals, None) or next(metrics, None)
    if metric is None:
        raise BadParameter("metric", f"no workload that '{named}' matches has measurements")
    return page.view.measuring(named, metric)


def _answer(request: WorkloadRequest, main: Chart) -> tuple[Sequence[str], Content]:
    """Return the sentences of the answer, and the answer for the template. main: the first chart of the page."""
    goal, view = request.goal, request.page.view
    counted = scaling.QUESTION.answer(view, scaling.ScalingParameters(**request.of_goal, **request.measured))
    ends = regimes.QUESTION.answer(view, regimes.RegimesParameters(**request.of_goal)) if request.has_regimes else None
    selection = SelectionParameters(**request.of_metric).selection()
    in_measure = partial(request.page_url, request.workload)
    row, reach = row_of_target(request)
    studies = study_rows(request, counted, ends)
    sentences = answer_sentences(request, studies, ends, row)
    return sentences, {
        "goal": goal,
        "direction": request.direction,
        "measured": request.measured,
        "where": request.where,
        "where_in_words": conditions_in_words(request.where),
        "where_pairs": [("where", condition) for condition in request.where],
        "facets": _facets(request),
        "curves_url": request.curves_url,
        "measures": list(offered_measures(view, selection, request.measured, in_measure)),
        "noun": request.noun,
        "batch_unit": request.batch_unit,
        "sentences": sentences,
        "refused": _refused(request),
        "as_fraction": as_fraction(view, request.facts, goal),
        "caveats": [
            text for text in caveats(request.workload, counted if ends is None else ends) if text not in sentences
        ],
        "result": counted.facts["results"][0],
        "figures": key_figures(request, row, studies),
        "reach": reach,
        "studies": studies,
        "has_rates": any(study["learning_rate"] is not None for study in studies),
        "budget": budget_section(request),
        "advice": None if request.is_pool or len(request.facts.fixed_sizes) < 2 else advice_section(request),
        "others": [] if request.is_pool else list(_others(request)),
        "pool": _pool(request),
        "main": main,
        "regimes": _regime_sections(request, row, studies) if request.has_regimes else None,
        "tuning_budget": request.chart(
            "tuning-budget",
            f"Steps to {goal.text} of the best of n trials, by batch size",
            "trials_of_workload",
            is_sql_behind=True,
        )
        if request.facts.fixed_sizes
        else None,
        "has_few_sizes": len(studies) <= _MOST_SIZES_OF_LINES,
    }


def _refused(request: WorkloadRequest) -> Content | None:
    """Return the requested target if the metric can't have it, the reason, and what may be meant."""
    if request.refused is None:
        return None
    metric = metric_named(request.goal.metric)
    return {"target": request.refused, "why": metric.range_in_words, "meant": metric.meant_by(request.refused)}


@dataclass(frozen=True)
class Facet:
    """A fact that trials can be chosen by. counts: of its values, the trials that have each. chosen: of its values."""

    name: str
    label: str
    counts: Mapping[str, int]
    chosen: Sequence[str]


def _facets(request: WorkloadRequest) -> list[Facet]:
    """Return what trials can be chosen by: who ran them, when and on what."""
    facets, whole = [], request.page.view.measuring(request.workload, request.goal.metric)
    pairs = [condition.partition("=") for condition in request.where]
    for names in identity_of_runs():
        for name in names:
            counts = facts_of_trials(request.page.view, whole, name)
            chosen = [value for of, _, value in pairs if of == name]
            if 1 < len(counts) <= _MOST_CHOICES or chosen:
                facets.append(Facet(name, _FACETS.get(name, name.capitalize()), counts, chosen))
                break
    known = {facet.name for facet in facets}
    others = dict.fromkeys(name for name, _, _ in pairs if name not in known)
    return facets + [Facet(name, name, {}, [value for of, _, value in pairs if of == name]) for name in others]


def _regime_sections(request: WorkloadRequest, row: AnswerRow, studies: Sequence[AnswerRow]) -> Content:
    """Return what the template shows only of several batch sizes, counted in steps."""
    behind = partial(request.chart, is_sql_behind=True)
    records, trials = "records_of_workload", "trials_of_workload"
    sweep = behind("target-sweep", f"Regimes by target of {request.goal.metric}", records, request.of_metric)
    rates = behind("metaparameters", f"Best learning rates for {request.goal.text} by batch size", trials)
    has_rates = any(study["learning_rate"] is not None for study in studies)
    estimates = request.of_goal | {"release": request.page.view.number}
    has_estimates = row["critical_batch_size"] is not None
    return {
        "slider": slider(request, row),
        "target_sweep": sweep,
        "metaparameters": rates if has_rates else None,
        "estimates": has_estimates and with_query("/v1/analysis/critical-batch-size.json", estimates.items()),
    }


def _pool(request: WorkloadRequest) -> tuple[str, str] | None:
    """Return the pattern of the same problem with any optimizer, and its address; None if there is only one."""
    this = request.workload
    optimizers = [
        each for each in request.page.view.workloads if replace(each, optimizer="") == replace(this, optimizer="")
    ]
    pattern = replace(this, optimizer=ANY)
    return (str(pattern), request.page_url(pattern)) if len(optimizers) > 1 else None


def _description(request: WorkloadRequest, sentences: Sequence[str]) -> str:
    """Return a short answer for search engines and previews of links."""
    text = f"{capitalized(request.noun)} to {request.goal.text} by batch size."
    for sentence in sentences:
        if len(text) + len(sentence) < _LONGEST_DESCRIPTION:
            text = f"{text} {sentence}"
    return text


def _others(request: WorkloadRequest) -> Iterator[Content]:
    """Yield the workloads to compare with: other optimizers of the same problem, other models of the same data.

    Those of the same collection come first. Empty groups are omitted.
    """
    this, metric = request.workload, request.goal.metric
    candidates = [
        each
        for each, facts in request.page.view.listed.items()
        if each != this and each.dataset == this.dataset and metric in facts.measured and _has_trials(request, facts)
    ]
    candidates.sort(key=lambda each: (each.collection != this.collection, each))

    def text(other: Workload, part: str) -> str:
        where = "" if other.collection == this.collection else f" (in {other.collection})"
        return f"{display_name(part, other)}{where}"

    dataset, model, optimizer = (display_name(part, this) for part in ("dataset", "model", "optimizer"))
    same_model = [each for each in candidates if each.model == this.model]
    same_optimizer = [each for each in candidates if each.optimizer == this.optimizer and each.model != this.model]
    for heading, part, alike in (
        (f"Other optimizers for {model} on {dataset}", "optimizer", same_model),
        (f"Other models on {dataset} with {optimizer}", "model", same_optimizer),
    ):
        listed = alike[:_MOST_OTHERS]
        if listed:
            yield {
                "heading": heading,
                "listed": [(text(each, part), request.compared([each])) for each in listed],
                "n_more": len(alike) - len(listed),
                "all_url": request.compared(listed),
            }


def _has_trials(request: WorkloadRequest, facts: WorkloadFacts) -> bool:
    """Return True if a workload has trials with the conditions of the request."""
    try:
        return bool(trials_where(request.page.view, facts, request.where).any())
    except BadParameter:
        return False


def _json_ld(request: WorkloadRequest, main: Chart, title: str, description: str) -> str:
    """Return the workload as a schema.org Dataset, a part of the data set of the service.

    main: the chart with the downloads.
    """
    page, workload = request.page, request.workload
    collections = {name: licence for name, _, licence, *_ in page.view.rows("list_collections")}
    licence = collections.get(workload.collection)
    document = {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": title,
        "description": description,
        "url": page.address + page.page_url(workload),
        "identifier": str(workload),
        "version": str(page.view.number),
        "datePublished": f"{page.release.created_at:%Y-%m-%d}",
        "isAccessibleForFree": True,
        "isPartOf": {"@type": "Dataset", "name": SITE, "url": f"{page.address}/"},
        "keywords": [workload.dataset, workload.model, workload.optimizer, "batch size", "steps to target"],
        "variableMeasured": ["batch size", f"{request.noun} to {request.goal.text}"],
        "distribution": [
            {"@type": "DataDownload", "encodingFormat": media_type, "contentUrl": page.address + main.data(ending)}
            for ending, media_type in _MEDIA_TYPES.items()
        ],
    }
    return json.dumps(document | ({"license": licence} if licence else {}), ensure_ascii=False)


WORKLOAD = PageKind("/workloads/{name:path}", WorkloadParameters, workload_page)


def target_stops_page(page: PageRequest) -> Page:
    """Return the stops of the slider, for its script; raises BadParameter and UnknownName."""
    facts = _facts(page, parse_workload(page.name))
    request = workload_request(page, facts)
    return Page(
        template="workload/stops.html",
        title="Targets",
        description="",
        url=page.page_url(facts.workload),
        content={"stops": stops(request) if request is not None and request.has_regimes else []},
    )


TARGET_STOPS = PageKind(STOPS + "{name:path}", WorkloadParameters, target_stops_page, is_fragment=True)
