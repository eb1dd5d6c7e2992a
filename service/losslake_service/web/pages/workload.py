"""The page of a workload: how many steps it takes to a target by batch size, and what follows from that."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial

from losslake.questions import regimes
from losslake.questions.selection import named_workload
from losslake_schema.names import Workload
from losslake_service.web.bare_page import SITE
from losslake_service.web.chart import Chart
from losslake_service.web.goals import goals_of
from losslake_service.web.page import Content, Page, PageKind, PageRequest
from losslake_service.web.templates import with_query
from losslake_service.web.workload.answer_words import answer_sentences, caveats
from losslake_service.web.workload.key_figures import key_figures, row_of_target, slider
from losslake_service.web.workload.request import (
    WorkloadParameters,
    WorkloadRequest,
    metric_shown,
    scaling_chart,
    workload_request,
)
from losslake_service.web.workload.tables import budget_shown, study_rows

_LONGEST_DESCRIPTION = 300
_MOST_OTHERS = 12
_MEDIA_TYPES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet", "json": "application/json"}


def workload_page(page: PageRequest) -> Page:
    """Return the page of the workload that the path names; raises BadParameter and UnknownName."""
    facts = page.view.workload(named_workload(page.name))
    request = workload_request(page, facts)
    workload, given = facts.workload, page.parameters
    title = f"{workload.model} on {workload.dataset} with {workload.optimizer}"
    sizes = facts.batch_sizes
    description = f"Training curves of {workload} at {len(sizes)} batch size{'s' if len(sizes) != 1 else ''}."
    answer, scaling = None, None
    if request is not None:
        scaling = scaling_chart(request)
        sentences, answer = _answer(request, scaling)
        description = _description(request, sentences)
    state = {name: getattr(given, name) for name in ("metric", "target", "direction", "step_budget", "example_budget")}
    return Page(
        template="workload.html",
        title=title,
        description=description,
        url=page.page_of(workload, **state),
        content={
            "workload": workload,
            "batch_sizes": sizes,
            "n_trials": len(facts.trials.trial_id),
            "metric": request.goal.metric if request else metric_shown(page, facts),
            "metrics": facts.measured,
            "goals": goals_of(page.view, facts),
            "answer": answer,
        },
        picture=scaling,
        above=(("Workloads", page.url("/workloads")),),
        styles=("workload.css",),
        scripts=("workload.js",) if answer else (),
        json_ld=_json_ld(request, scaling, title, description) if request and scaling else "",
        data=scaling.data("json") if scaling else None,
    )


def _answer(request: WorkloadRequest, scaling: Chart) -> tuple[Sequence[str], Content]:
    """Return the sentences of the answer, and what the template shows of it."""
    goal, records, trials = request.goal, "records_of_workload", "trials_of_workload"
    ends = regimes.answer(request.page.view, regimes.RegimesParameters(**request.of_goal))
    row, reach = row_of_target(request)
    studies = study_rows(request, ends)
    has_rates = any(study["learning_rate"] is not None for study in studies)
    sentences = answer_sentences(goal, studies, ends, row)

    behind = partial(request.chart, is_sql_behind=True)
    sweep = behind("target-sweep", f"Regimes by target of {goal.metric}", records, request.metric_query)
    tuning = behind("tuning-budget", f"Steps to {goal.text} of the best of n trials, by batch size", trials)
    rates = behind("metaparameters", f"Best learning rates for {goal.text} by batch size", trials)
    estimates = [*request.goal_query, ("release", request.page.view.number)]
    return sentences, {
        "goal": goal,
        "direction": request.direction,
        "sentences": sentences,
        "caveats": caveats(request.workload, ends),
        "figures": key_figures(row, len(request.facts.batch_sizes)),
        "slider": slider(request, sweep, row),
        "reach": reach,
        "studies": studies,
        "budget": budget_shown(request),
        "others": list(_others(request)),
        "scaling": scaling,
        "target_sweep": sweep,
        "tuning_budget": tuning,
        "metaparameters": rates if has_rates else None,
        "estimates": with_query("/v1/analysis/critical-batch-size.json", estimates),
    }


def _description(request: WorkloadRequest, sentences: Sequence[str]) -> str:
    """Return the answer, as far as it is short, for search engines and those who are sent a link."""
    text = f"Steps to {request.goal.text} by batch size."
    for sentence in sentences:
        if len(text) + len(sentence) < _LONGEST_DESCRIPTION:
            text = f"{text} {sentence}"
    return text


def _others(request: WorkloadRequest) -> Iterator[Content]:
    """Yield the workloads to compare with: other optimizers of the same problem, other models of the same data.

    Those of the same collection come first. Kinds without any are left out.
    """
    this, metric = request.workload, request.goal.metric
    candidates = [
        each
        for each, facts in request.page.view.workloads.items()
        if each != this and each.dataset == this.dataset and metric in facts.measured
    ]
    candidates.sort(key=lambda each: (each.collection != this.collection, each))

    def text(other: Workload, part: str) -> str:
        where = "" if other.collection == this.collection else f" (in {other.collection})"
        return f"{getattr(other, part)}{where}"

    for heading, part, same in (
        (f"Other optimizers for {this.model} on {this.dataset}", "optimizer", "model"),
        (f"Other models on {this.dataset} with {this.optimizer}", "model", "optimizer"),
    ):
        alike = [each for each in candidates if getattr(each, same) == getattr(this, same)]
        listed = alike[:_MOST_OTHERS]
        if listed:
            yield {
                "heading": heading,
                "listed": [(text(each, part), request.compared([each]), request.page_of(each)) for each in listed],
                "n_more": len(alike) - len(listed),
                "all_url": request.compared(listed),
            }


def _json_ld(request: WorkloadRequest, scaling: Chart, title: str, description: str) -> str:
    """Return the workload for search engines: a schema.org Dataset, part of the data set that the service holds.

    scaling: what can be downloaded.
    """
    page, workload = request.page, request.workload
    collections = {name: licence for name, _, licence, *_ in page.view.rows("list_collections")}
    licence = collections.get(workload.collection)
    document = {
        "@context": "https://schema.org/",
        "@type": "Dataset",
        "name": f"{title} ({workload.collection})",
        "description": description,
        "url": page.address + page.page_of(workload),
        "identifier": str(workload),
        "version": str(page.view.number),
        "datePublished": f"{page.release.created_at:%Y-%m-%d}",
        "isAccessibleForFree": True,
        "isPartOf": {"@type": "Dataset", "name": SITE, "url": f"{page.address}/"},
        "keywords": [workload.dataset, workload.model, workload.optimizer, "batch size", "steps to target"],
        "variableMeasured": ["batch size", f"steps to {request.goal.text}"],
        "distribution": [
            {
                "@type": "DataDownload",
                "encodingFormat": media_type,
                "contentUrl": page.address + scaling.data(ending),
            }
            for ending, media_type in _MEDIA_TYPES.items()
        ],
    }
    return json.dumps(document | ({"license": licence} if licence else {}), ensure_ascii=False)


WORKLOAD = PageKind("/workloads/{name:path}", WorkloadParameters, workload_page)
