"""The charts and answers of the page that are about the goal.

The workload for search engines: a schema.org Dataset, part of the data set that the service holds.
"""

from __future__ import annotations

import json

from losslake_service.web.chart import Chart
from losslake_service.web.page import SITE
from losslake_service.web.schema_tables import statement
from losslake_service.web.templates import Query, with_query
from losslake_service.web.workload.state import WorkloadAsked

RECORDS = "records_of_workload"
"""The statement of all records."""
_TRIALS = "trials_of_workload"


def scaling_chart(asked: WorkloadAsked) -> Chart:
    """Steps to the target by batch size."""
    title = f"Steps to {asked.goal.text} by batch size"
    return _chart(asked, "scaling", asked.goal_query, title, "steps_to_result", is_sql_behind=False)


def target_sweep_chart(asked: WorkloadAsked) -> Chart:
    """The ends of the regimes and the critical batch size, by target."""
    return _chart(asked, "target-sweep", asked.metric_query, f"Regimes by target of {asked.goal.metric}", RECORDS)


def metaparameters_chart(asked: WorkloadAsked) -> Chart:
    """The best learning rates by batch size."""
    title = f"Best learning rates for {asked.goal.text} by batch size"
    return _chart(asked, "metaparameters", asked.goal_query, title, _TRIALS)


def tuning_budget_chart(asked: WorkloadAsked) -> Chart:
    """The steps that the best of n trials takes."""
    title = f"Steps to {asked.goal.text} of the best of n trials, by batch size"
    return _chart(asked, "tuning-budget", asked.goal_query, title, _TRIALS)


def estimates_address(asked: WorkloadAsked) -> str:
    """The answer with all estimates of the critical batch size."""
    query = [*asked.goal_query, ("release", str(asked.page.view.number))]
    return with_query("/v1/analysis/critical-batch-size.json", query)


def statement_of(asked: WorkloadAsked, name: str) -> str:
    """One of the statements about a workload and a goal; empty where the direction is the asker's.

    What statements ask has the metric's own direction only.
    """
    workload, goal = asked.workload, asked.goal
    if asked.is_told:
        return ""
    return statement(
        name,
        metric=goal.metric,
        target=goal.target,
        collection=workload.collection,
        dataset=workload.dataset,
        model=workload.model,
        optimizer=workload.optimizer,
    )


def _chart(asked: WorkloadAsked, kind: str, query: Query, title: str, sql: str, is_sql_behind: bool = True) -> Chart:
    return Chart(
        name=kind,
        kind=kind,
        query=query,
        release=asked.page.view.number,
        title=f"{title}, {asked.workload}",
        address=asked.page.address,
        sql=statement_of(asked, sql),
        is_sql_behind=is_sql_behind,
    )


_MEDIA_TYPES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet", "json": "application/json"}


def json_ld(asked: WorkloadAsked, scaling: Chart, title: str, description: str) -> str:
    """The JSON-LD document of the page. scaling: what can be downloaded."""
    page, workload = asked.page, asked.workload
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
        "variableMeasured": ["batch size", f"steps to {asked.goal.text}"],
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
