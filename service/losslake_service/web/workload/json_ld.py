"""The workload for search engines: a schema.org Dataset, part of the data set that the service holds."""

from __future__ import annotations

import json

from losslake_service.web.chart import Chart
from losslake_service.web.page import SITE
from losslake_service.web.workload.asked import WorkloadAsked

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
