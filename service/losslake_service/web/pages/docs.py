"""The page of the REST interface: how it works, and every path of it."""

from __future__ import annotations

import functools
import json
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from markupsafe import Markup

from losslake.output.formats import FORMATS
from losslake_service.problems import KINDS, TYPE
from losslake_service.web.examples import Example, example
from losslake_service.web.first_look import first_chart
from losslake_service.web.page import Page, PageAsked, PageKind, PageParameters
from losslake_service.web.reference import Entry, Reference, anchor, operations, verb_and_path


class DocsParameters(PageParameters):
    """The state of the page."""

    q: str = ""
    """Words that a path in the contents has to have, all of them."""


@dataclass(frozen=True)
class PathShown:
    """A path in the contents. is_left_out: by the words that were given."""

    name: str
    anchor: str
    is_left_out: bool


@dataclass(frozen=True)
class FormatShown:
    """A format of answers."""

    name: str
    media_type: str


@dataclass(frozen=True)
class DocsShown:
    """What the template shows. description: by paragraph. statement: the body of a POST to /v1/sql, for a shell."""

    description: Sequence[str]
    words: str
    paths: Sequence[PathShown]
    formats: Sequence[FormatShown]
    statement: str
    sql: str
    problem_type: str
    problems: Sequence[Entry]
    problem_fields: Sequence[Entry]
    reference: Markup


def docs_page(asked: PageAsked) -> Page:
    """The page."""
    found = example(asked.view)
    document = asked.interface.document
    reference = Reference(document, found, asked.view.number, asked.address)
    words = asked.parameters.q.strip()
    body = _statement(found)
    content = DocsShown(
        description=document["info"]["description"].split("\n\n"),
        words=words,
        paths=[
            PathShown(verb_and_path(method, path), anchor(method, path), not _has(path, words))
            for path, method, _ in operations(document)
        ],
        formats=[FormatShown(each.name, each.media_type.partition(";")[0]) for each in FORMATS.values()],
        statement=shlex.quote(json.dumps(body)),
        sql="SELECT workload, batch_sizes, n_trials FROM workloads",
        problem_type=TYPE,
        problems=problems(),
        problem_fields=reference.fields("problem", {"$ref": "#/components/schemas/ProblemDocument"}),
        reference=asked.interface.reference(asked.view, asked.address),
    )
    return Page(
        template="docs.html",
        title="The REST interface",
        description="Every path, parameter, field and problem of LossLake's REST interface, with lines to copy.",
        url=asked.url("/docs", q=words or None),
        content=content,
        picture=first_chart(asked),
        styles=("docs.css",),
        scripts=("docs.js",),
        data="/openapi.json",
    )


def problems() -> Sequence[Entry]:
    """An entry for each kind of problem, by status."""
    advice = problem_advice()
    return [
        Entry(f"problem:{kind}", kind, f"status {status}", f"{title}. {advice.get(kind, '')}")
        for kind, (status, title) in sorted(KINDS.items(), key=lambda entry: entry[1][0])
    ]


@functools.cache
def problem_advice() -> Mapping[str, str]:
    """By kind of problem, what to do about it."""
    return tomllib.loads(resources.files("losslake_service.web").joinpath("problem_kinds.toml").read_text("utf-8"))


def _statement(found: Example | None) -> Mapping[str, object]:
    """The body of a POST to /v1/sql."""
    if found is None:
        return {"sql": "SELECT collection, dataset, model, optimizer FROM workloads"}
    return {
        "sql": "SELECT batch_size, steps FROM result_at($metric, $target) WHERE optimizer = $optimizer",
        "parameters": {"metric": found.metric, "target": found.target, "optimizer": found.workload.optimizer},
    }


def _has(path: str, words: str) -> bool:
    return all(word in path.lower() for word in words.lower().split())


DOCS = PageKind("/docs", DocsParameters, docs_page)
