"""What scripts of the SQL page know of its release: names to complete, and how charts look. A JSON document."""

from __future__ import annotations

from typing import Any

import orjson

from losslake.figures import dark, theme
from losslake.figures.dark import Theme, in_theme
from losslake.questions.release_view import ReleaseView
from losslake_service.sandbox.admission import allowed_functions

MOST_ROWS = 10_000
"""Of a result that scripts ask for and keep; more are downloaded."""


def console_document(view: ReleaseView) -> str:
    """The document as JSON: names of every kind in the release, the functions that may be called, the charts' looks."""
    workloads = view.workloads
    names = {
        "collection": {workload.collection for workload in workloads},
        "dataset": {workload.dataset for workload in workloads},
        "model": {workload.model for workload in workloads},
        "optimizer": {workload.optimizer for workload in workloads},
        "metric": {metric for facts in workloads.values() for metric in facts.measured},
        "metaparameter": set(view.metaparameters()),
        "workload": set(map(str, workloads)),
    }
    document = {
        "release": view.number,
        "most_rows": MOST_ROWS,
        "names": {kind: sorted(found) for kind, found in names.items()},
        "functions": functions(),
        "looks": {"light": _looks("light"), "dark": _looks("dark")},
    }
    return orjson.dumps(document).decode()


def functions() -> list[str]:
    """The functions that statements may call, without operators."""
    return sorted(name for name in allowed_functions() if name.isidentifier() and not name.startswith("_"))


def _looks(wanted: Theme) -> dict[str, Any]:
    """Vega-Lite's `config` of the service's own figures, with the colours of their series."""
    of_theme = theme if wanted == "light" else dark
    config: dict[str, Any] = in_theme({"config": theme.configuration()}, wanted)["config"]
    colours = {"category": list(of_theme.COLOURS), "ordinal": list(of_theme.ORDERED), "ramp": list(of_theme.ORDERED)}
    return config | {"range": colours, "mark": {"color": of_theme.COLOURS[0]}}
