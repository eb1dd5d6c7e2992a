"""The reference of the REST interface: a page on how it works, with a list of its paths, and a page for each path."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from losslake.output.formats import FORMATS
from losslake.questions.release.errors import UnknownName, near_names
from losslake_schema.package_files import read_toml
from losslake_service.problems import KINDS, TYPE
from losslake_service.web.examples import Example, find_example
from losslake_service.web.page import DocsPage, Page, PageKind, PageParameters, PageRequest
from losslake_service.web.reference import (
    REFERENCE_PATH,
    Entry,
    Reference,
    anchor,
    first_sentence,
    operations,
    page_address,
    page_name,
    verb_and_path,
)
from losslake_service.web.starting_example import first_chart


class ReferenceParameters(PageParameters):
    """The query of the page of all paths."""

    q: str = ""
    """Words that a path in the list has to have, all of them."""


class PathSummary(NamedTuple):
    """A path in the list. anchor: that of its section; address: of its page; text: the first sentence on it."""

    name: str
    anchor: str
    address: str
    text: str


def reference_page(request: PageRequest) -> Page:
    """Return the page of all paths."""
    example = find_example(request.view)
    document = request.interface.document()
    reference = Reference(document, example, request.view.number, request.address)
    words = request.parameters.q.strip()
    paths = list(path_summaries(document))
    return DocsPage(
        template="reference_index.html",
        title="The REST interface",
        description="Every path, parameter, field and problem of LossLake's REST interface, with lines to copy.",
        url=request.url(REFERENCE_PATH, q=words or None),
        content={
            "description": document["info"]["description"].split("\n\n"),
            "words": words,
            "paths": paths,
            "shown": [each.name for each in paths if all(word in each.name.lower() for word in words.lower().split())],
            "formats": FORMATS.values(),
            "statement": shlex.quote(json.dumps(_statement(example))),
            "problem_type": TYPE,
            "problems": problems(),
            "problem_fields": reference.fields("problem", {"$ref": "#/components/schemas/ProblemDocument"}),
        },
        picture=first_chart(request),
        above=(("Docs", request.url("/docs")),),
        data="/openapi.json",
    )


def path_page(request: PageRequest) -> Page:
    """Return the page of one path; raises UnknownName."""
    sections = {
        page_name(each.anchor): each for each in request.interface.sections(request.view, request.address).values()
    }
    section = sections.get(request.name)
    if section is None:
        near = near_names(request.name, sections) or list(sections)[:1]
        address = f"{REFERENCE_PATH}/{request.name}"
        raise UnknownName("path", address, [f"{REFERENCE_PATH}/{name}" for name in near], "the reference")
    return DocsPage(
        template="reference_path.html",
        title=section.name,
        description=first_sentence(section.text) or f"{section.name} of LossLake's REST interface.",
        url=request.url(page_address(section.anchor)),
        content={"section": section},
        picture=first_chart(request),
        above=(("Docs", request.url("/docs")), ("REST", request.url(REFERENCE_PATH))),
        data="/openapi.json",
    )


def path_summaries(document: Mapping[str, Any]) -> Iterator[PathSummary]:
    """Yield every path of an OpenAPI document, questions first."""
    for path, method, operation in operations(document):
        place = anchor(method, path)
        text = first_sentence(operation.get("description", ""))
        yield PathSummary(verb_and_path(method, path), place, page_address(place), text)


def problems() -> Sequence[Entry]:
    """Return an entry for each kind of problem, by status."""
    advice = read_toml("losslake_service.web", "problem_kinds.toml")
    return [
        Entry(f"problem:{kind}", kind, f"status {status}", f"{title}. {advice.get(kind, '')}")
        for kind, (status, title) in sorted(KINDS.items(), key=lambda entry: entry[1][0])
    ]


def _statement(example: Example | None) -> Mapping[str, object]:
    """Return the body of a POST to /v1/sql."""
    if example is None:
        return {"sql": "SELECT collection, dataset, model, optimizer FROM workloads"}
    return {
        "sql": "SELECT batch_size, steps FROM result_at($metric, $target) WHERE optimizer = $optimizer",
        "parameters": {"metric": example.metric, "target": example.target, "optimizer": example.workload.optimizer},
    }


REFERENCE = PageKind(REFERENCE_PATH, ReferenceParameters, reference_page)
PATH = PageKind(REFERENCE_PATH + "/{name:path}", PageParameters, path_page)
