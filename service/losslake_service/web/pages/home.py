"""The page at `/`: what this is, how much of it there is, a first answer, and where to begin."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

from losslake.questions.analysis.regimes import regimes
from losslake_schema.database import Release
from losslake_schema.names import Workload
from losslake_service.web.chart import Chart, Line, snippets
from losslake_service.web.first_look import Beginning, FirstLook, beginnings, first_look, workload_of
from losslake_service.web.page import SITE, Page, PageAsked, PageKind, PageParameters
from losslake_service.web.templates import Query
from losslake_service.web.workload.answer_words import regime_ends, regime_sentences
from losslake_service.web.workload.charts import scaling_chart

_RECENT = 5
_MOST_WORKLOADS = 48
_PLAIN = re.compile(r"[A-Za-z0-9_/.-]+")
_TABULAR = {"application/json", "text/csv", "application/vnd.apache.parquet"}


@dataclass(frozen=True)
class Group:
    """The workloads on a dataset, by model."""

    collection: str
    dataset: str
    models: Sequence[tuple[str, Sequence[Workload]]]


@dataclass(frozen=True)
class FirstAnswer:
    """A chart and what it says, in sentences; workload: that it is about."""

    workload: Workload
    look: FirstLook
    chart: Chart
    sentences: Sequence[str]


@dataclass(frozen=True)
class Ways:
    """Three ways in, each as lines to copy."""

    rest: Sequence[Line]
    sql: Sequence[Line]
    files: Sequence[Line]


@dataclass(frozen=True)
class HomeShown:
    """What the template shows. counts: name and number. answer: None for a release without an answer to show."""

    counts: Sequence[tuple[str, int]]
    answer: FirstAnswer | None
    beginnings: Sequence[Beginning]
    groups: Sequence[Group]
    n_workloads: int
    releases: Sequence[Release]
    n_releases: int
    ways: Ways


def home_page(asked: PageAsked) -> Page:
    """The start page."""
    view, release = asked.view, asked.release
    look = first_look(view)
    answer = _first_answer(asked, look) if look is not None else None
    releases = asked.releases.lake.releases()
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
        url=asked.url("/"),
        content=HomeShown(
            counts=list(counts.items()),
            answer=answer,
            beginnings=list(beginnings(asked, look)) if look is not None else [],
            groups=list(_groups(islice(view.workloads, _MOST_WORKLOADS))),
            n_workloads=len(view.workloads),
            releases=releases[:_RECENT],
            n_releases=len(releases),
            ways=_ways(asked, look),
        ),
        picture=answer.chart if answer is not None else None,
        styles=("home.css",),
        json_ld=asked.bulk.described(view.number).json_ld(asked.address),
    )


def _first_answer(asked: PageAsked, look: FirstLook) -> FirstAnswer:
    workload = workload_of(asked, look)
    ends = regime_ends(regimes(asked.view, workload.selection, workload.as_goal))
    return FirstAnswer(look.workload, look, scaling_chart(workload), regime_sentences(ends))


def _groups(workloads: Iterator[Workload]) -> Iterator[Group]:
    for (collection, dataset), of_dataset in groupby(workloads, lambda each: (each.collection, each.dataset)):
        models = groupby(of_dataset, lambda each: each.model)
        yield Group(collection, dataset, [(model, list(of_model)) for model, of_model in models])


def _ways(asked: PageAsked, look: FirstLook | None) -> Ways:
    address, release = asked.address, asked.view.number
    path: str = "/v1/workloads"
    query: Query = []
    if look is not None:
        path = "/v1/scaling"
        query = [("workload", str(look.workload)), ("metric", look.goal.metric), ("target", repr(look.goal.target))]
    lines = [Line(*found) for found in snippets(address, path, query, _TABULAR)]
    sql = _statement(look)
    dataset = shlex.quote(look.workload.dataset) if look is not None else "mnist"
    database = f"ATTACH '{address}/v1/releases/{release}/losslake.duckdb' AS losslake; USE losslake; {sql};"
    return Ways(
        rest=[line for line in lines if line.tool in ("curl", "pandas")],
        sql=[
            Line("LossLake", f'losslake sql --url {address} -c "{sql}"'),
            Line("DuckDB", f'duckdb -c "{database}"'),
        ],
        files=[
            Line("LossLake", f"losslake download {address} lake --dataset {dataset}"),
            Line("wget", f"wget --recursive --level=inf --no-parent --reject='index.html*' {address}/data/{release}/"),
        ],
    )


def _statement(look: FirstLook | None) -> str:
    """An SQL statement that can stand between double quotes in a shell, whatever the metric is called."""
    if look is None or not _PLAIN.fullmatch(look.goal.metric):
        return "FROM workloads"
    return f"FROM result_at('{look.goal.metric}', {look.goal.target!r})"


HOME = PageKind("/", PageParameters, home_page)
