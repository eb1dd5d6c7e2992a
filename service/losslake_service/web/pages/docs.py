"""The page of the REST interface: how it works, and every path of it."""

from __future__ import annotations

import functools
import json
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from importlib import resources

from losslake.output.formats import FORMATS
from losslake_service.problems import KINDS, TYPE
from losslake_service.web.examples import Example, example
from losslake_service.web.first_look import first_chart
from losslake_service.web.page import Page, PageKind, PageParameters, PageRequest
from losslake_service.web.reference import Entry, Reference, anchor, operations, verb_and_path


class DocsParameters(PageParameters):
    """The query of the page."""

    q: str = ""
    """Words that a path in the contents has to have, all of them."""


def docs_page(request: PageRequest) -> Page:
    """Return the page."""
    some = example(request.view)
    document = request.interface.document
    reference = Reference(document, some, request.view.number, request.address)
    words = request.parameters.q.strip()
    paths = [(verb_and_path(method, path), anchor(method, path)) for path, method, _ in operations(document)]
    return Page(
        template="docs.html",
        title="The REST interface",
        description="Every path, parameter, field and problem of LossLake's REST interface, with lines to copy.",
        url=request.url("/docs", q=words or None),
        content={
            "description": document["info"]["description"].split("\n\n"),
            "words": words,
            "paths": paths,
            "shown": [name for name, _ in paths if all(word in name.lower() for word in words.lower().split())],
            "formats": FORMATS.values(),
            "statement": shlex.quote(json.dumps(_statement(some))),
            "problem_type": TYPE,
            "problems": problems(),
            "problem_fields": reference.fields("problem", {"$ref": "#/components/schemas/ProblemDocument"}),
            "reference": request.interface.reference(request.view, request.address),
        },
        picture=first_chart(request),
        styles=("docs.css",),
        scripts=("docs.js",),
        data="/openapi.json",
    )


def problems() -> Sequence[Entry]:
    """Return an entry for each kind of problem, by status."""
    advice = problem_advice()
    return [
        Entry(f"problem:{kind}", kind, f"status {status}", f"{title}. {advice.get(kind, '')}")
        for kind, (status, title) in sorted(KINDS.items(), key=lambda entry: entry[1][0])
    ]


@functools.cache
def problem_advice() -> Mapping[str, str]:
    """Return, by kind of problem, what to do about it."""
    return tomllib.loads(resources.files("losslake_service.web").joinpath("problem_kinds.toml").read_text("utf-8"))


def _statement(some: Example | None) -> Mapping[str, object]:
    """Return the body of a POST to /v1/sql."""
    if some is None:
        return {"sql": "SELECT collection, dataset, model, optimizer FROM workloads"}
    return {
        "sql": "SELECT batch_size, steps FROM result_at($metric, $target) WHERE optimizer = $optimizer",
        "parameters": {"metric": some.metric, "target": some.target, "optimizer": some.workload.optimizer},
    }


DOCS = PageKind("/docs", DocsParameters, docs_page)
