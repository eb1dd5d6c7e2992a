"""The start page: what the curves show, questions to start with, the collections, and ways to use them."""

from __future__ import annotations

import re
import shlex

from losslake.lake.readme_and_licences import URL_SCHEMES
from losslake.questions.release.known_names import collection_name
from losslake.questions.release.view import ReleaseView
from losslake_service.web.bare_page import SITE
from losslake_service.web.code_lines import Line, snippets
from losslake_service.web.gallery import HEIGHT, WIDTH, gallery
from losslake_service.web.page import Page, PageKind, PageParameters, PageRequest
from losslake_service.web.per_release import once_per_release
from losslake_service.web.starting_example import StartingExample, first_chart, starting_example, starting_questions
from losslake_service.web.templates import query_pairs

_MOST_COLLECTIONS = 8
_PLAIN = re.compile(r"[A-Za-z0-9_/.-]+")


def home_page(request: PageRequest) -> Page:
    """Return the start page."""
    view, release = request.view, request.release
    example, chart = starting_example(view), first_chart(request)
    counts = {
        "workloads": len(view.listed),
        "studies": release.n_studies,
        "trials": release.n_trials,
        "measurements": release.n_measurements,
        "collections": len({workload.collection for workload in view.listed}),
    }
    return Page(
        template="home.html",
        title=SITE,
        description="A public database of training curves: how many steps it takes to train a model to a goal, "
        "by batch size and optimizer, with every curve behind each answer.",
        url=request.url("/"),
        content={
            "counts": counts,
            "example": example,
            "starting_questions": list(starting_questions(request, example)) if example is not None else [],
            "findings": gallery(view),
            "size": (WIDTH, HEIGHT),
            "coverage": _coverage(view),
            "schemes": URL_SCHEMES,
            "n_workloads": len(view.listed),
            "n_collections": counts["collections"],
            "n_releases": len(request.releases.lake.releases()),
            "ways": _ways(request, example),
        },
        picture=chart,
        styles=("home.css",),
        json_ld=request.bulk.described(view.number).json_ld(request.address),
    )


@once_per_release
def _coverage(view: ReleaseView) -> list[dict[str, object]]:
    """Return the largest collections with what each covers."""
    listed = {workload.collection for workload in view.listed}
    rows = [row for row in view.table("coverage_of_collections", {}).to_pylist() if row["collection"] in listed]
    return [row | {"name": collection_name(row["collection"])} for row in rows[:_MOST_COLLECTIONS]]


def _ways(request: PageRequest, example: StartingExample | None) -> list[tuple[str, list[Line]]]:
    """Return the lines to copy, by interface: REST, SQL and files."""
    address, release = request.address, request.view.number
    query: dict[str, object] = {} if example is None else {"workload": example.workload, **example.goal.parameters}
    path = "/v1/workloads" if example is None else "/v1/scaling"
    lines = snippets(address, path, query_pairs(query.items()))
    sql = _statement(example)
    dataset = shlex.quote(example.workload.dataset) if example is not None else "mnist"
    database = f"ATTACH '{address}/v1/releases/{release}/losslake.duckdb' AS losslake; USE losslake; {sql};"
    files = f"wget --recursive --level=inf --no-parent --reject='index.html*' {address}/data/{release}/"
    in_sql = [
        Line("losslake sql", f'losslake sql --url {address} -c "{sql}"'),
        Line("DuckDB", f'duckdb -c "{database}"'),
    ]
    of_files = [Line("losslake download", f"losslake download {address} lake --dataset {dataset}"), Line("wget", files)]
    return [
        ("Query over HTTP", [line for line in lines if line.tool in ("curl", "pandas")]),
        ("Query in SQL", in_sql),
        ("Download", of_files),
    ]


def _statement(example: StartingExample | None) -> str:
    """Return an SQL statement that is safe between double quotes in a shell."""
    if example is None or not _PLAIN.fullmatch(example.goal.metric):
        return "FROM workloads"
    return f"FROM result_at('{example.goal.metric}', {example.goal.target!r})"


HOME = PageKind("/", PageParameters, home_page)
