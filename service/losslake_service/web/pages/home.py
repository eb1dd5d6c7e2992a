"""The page at `/`: what this is, how much of it there is, a first answer, and where to begin."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice

from losslake.questions import regimes
from losslake_schema.names import Workload
from losslake_service.web.bare_page import SITE
from losslake_service.web.first_look import FirstLook, beginnings, first_chart, first_look
from losslake_service.web.lines import Line, snippets
from losslake_service.web.page import Page, PageKind, PageParameters, PageRequest
from losslake_service.web.workload.answer_words import regime_sentences

_RECENT = 5
_MOST_WORKLOADS = 48
_PLAIN = re.compile(r"[A-Za-z0-9_/.-]+")


def home_page(request: PageRequest) -> Page:
    """Return the start page."""
    view, release = request.view, request.release
    look, chart = first_look(view), first_chart(request)
    releases = request.releases.lake.releases()
    counts = {
        "workloads": len(view.workloads),
        "studies": release.n_studies,
        "trials": release.n_trials,
        "measurements": release.n_measurements,
        "collections": len({workload.collection for workload in view.workloads}),
    }
    return Page(
        template="home.html",
        title=SITE,
        description="A public database of training curves: how many steps it takes to train a model to a goal, "
        "by batch size and optimizer, with every curve behind each answer.",
        url=request.url("/"),
        content={
            "counts": counts,
            "look": look,
            "chart": chart,
            "sentences": _sentences(request, look) if look is not None else [],
            "beginnings": list(beginnings(request, look)) if look is not None else [],
            "groups": _groups(islice(view.workloads, _MOST_WORKLOADS)),
            "n_workloads": len(view.workloads),
            "releases": releases[:_RECENT],
            "n_releases": len(releases),
            "ways": _ways(request, look),
        },
        picture=chart,
        styles=("home.css",),
        json_ld=request.bulk.described(view.number).json_ld(request.address),
    )


def _sentences(request: PageRequest, look: FirstLook) -> Sequence[str]:
    """Return what the chart says."""
    workload = look.request(request)
    return regime_sentences(regimes.answer(request.view, regimes.RegimesParameters(**workload.of_goal)))


def _groups(workloads: Iterable[Workload]) -> Iterator[tuple[str, str, list[tuple[str, list[Workload]]]]]:
    """Yield collection, dataset, and the workloads on it by model."""
    for (collection, dataset), on_dataset in groupby(workloads, lambda each: (each.collection, each.dataset)):
        models = groupby(on_dataset, lambda each: each.model)
        yield collection, dataset, [(model, list(of_model)) for model, of_model in models]


def _ways(request: PageRequest, look: FirstLook | None) -> dict[str, list[Line]]:
    """Return three ways in, each as lines to copy."""
    address, release = request.address, request.view.number
    query = {} if look is None else {"workload": str(look.workload), **look.goal.parameters}
    path = "/v1/workloads" if look is None else "/v1/scaling"
    lines = snippets(address, path, [(name, str(value)) for name, value in query.items()])
    sql = _statement(look)
    dataset = shlex.quote(look.workload.dataset) if look is not None else "mnist"
    database = f"ATTACH '{address}/v1/releases/{release}/losslake.duckdb' AS losslake; USE losslake; {sql};"
    return {
        "rest": [line for line in lines if line.tool in ("curl", "pandas")],
        "sql": [
            Line("LossLake", f'losslake sql --url {address} -c "{sql}"'),
            Line("DuckDB", f'duckdb -c "{database}"'),
        ],
        "files": [
            Line("LossLake", f"losslake download {address} lake --dataset {dataset}"),
            Line("wget", f"wget --recursive --level=inf --no-parent --reject='index.html*' {address}/data/{release}/"),
        ],
    }


def _statement(look: FirstLook | None) -> str:
    """Return an SQL statement that can stand between double quotes in a shell, whatever the metric is called."""
    if look is None or not _PLAIN.fullmatch(look.goal.metric):
        return "FROM workloads"
    return f"FROM result_at('{look.goal.metric}', {look.goal.target!r})"


HOME = PageKind("/", PageParameters, home_page)
