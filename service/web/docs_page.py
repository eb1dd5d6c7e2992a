"""The page at `/docs`: how the interface works, and every path of it. Made on the server; it loads nothing."""

from __future__ import annotations

import functools
import json
import shlex
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any

from service.examples import Example, example
from service.problems import KINDS, TYPE
from service.release_view import ReleaseView
from service.tabular.formats import FORMATS
from service.web.html import Html, element, fill, joined, page, prose
from service.web.reference import Reference


def docs_page(document: Mapping[str, Any], view: ReleaseView, address: str) -> str:
    """The page as HTML. document: OpenAPI's; view: the release whose examples it shows; address: of the service."""
    found = example(view)
    reference = Reference(document, found, view.number, address)
    main = fill(
        "docs.html",
        contents=reference.contents(),
        description=prose(document["info"]["description"]),
        formats=_formats(),
        release=view.number,
        address=address,
        statement=shlex.quote(json.dumps(_statement(found))),
        type_prefix=TYPE,
        problems=problem_rows(),
        problem_fields=reference.fields("problem", {"$ref": "#/components/schemas/ProblemDocument"}),
        reference=reference.sections(),
    )
    return page("LossLake: the REST interface", main)


def _statement(found: Example | None) -> Mapping[str, Any]:
    """The body of a POST to /v1/sql."""
    if found is None:
        return {"sql": "SELECT collection, dataset, model, optimizer FROM workloads"}
    return {
        "sql": "SELECT batch_size, steps FROM result_at($metric, $target) WHERE optimizer = $optimizer",
        "parameters": {"metric": found.metric, "target": found.target, "optimizer": found.workload.optimizer},
    }


def problem_rows() -> Html:
    """An entry for each kind of problem, by status."""
    advice = problem_advice()
    return joined(
        fill(
            "field.html",
            anchor=f"problem:{kind}",
            name=kind,
            needed="",
            facts=f"status {status}",
            text=joined([f"{title}. ", prose(advice.get(kind, ""))], ""),
            example="",
        )
        for kind, (status, title) in sorted(KINDS.items(), key=lambda entry: entry[1][0])
    )


@functools.cache
def problem_advice() -> Mapping[str, str]:
    """By kind of problem, what to do about it."""
    return tomllib.loads(resources.files("service.web").joinpath("problem_kinds.toml").read_text("utf-8"))


def _formats() -> Html:
    return joined(
        element(
            "tr",
            joined(
                element("td", element("code", text))
                for text in (found.name, f".{found.name}", found.media_type.partition(";")[0])
            ),
        )
        for found in FORMATS.values()
    )
