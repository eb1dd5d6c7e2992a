"""What OpenAPI says of figures."""

from __future__ import annotations

from typing import Any

from losslake.figures.drawing import kinds
from losslake.figures.figure import MEDIA_TYPES
from losslake_service.problems import problem_responses
from losslake_service.routes.openapi_parts import header, lift
from losslake_service.routes.papers.route import PATH as PAPERS

_DOC = """{doc} As SVG, PNG or PDF, as the Vega-Lite specification that they are rendered from, or as the rows that it
draws, which are those of `{answer}`. The caption says which release and which query they are of."""
_PAPERS_DOC = """A figure of a paper, drawn again from a release that has the paper's data: as SVG, PNG or PDF, as the
Vega-Lite specification that they are rendered from, or as the numbers that it draws. `/v1/papers` lists the figures.
What the release lacks is said in the figure and in its caption; a release without anything of the paper's collection
is a problem of type `unknown-collection`."""


def describe_figures(document: dict[str, Any]) -> None:
    """Complete the document's operations on figures, if they are there."""
    for kind in kinds():
        operation = document["paths"].get(f"/v1/figures/{kind.name}.{{ending}}", {}).get("get")
        if operation is None:
            continue
        name = "".join(word.capitalize() for word in kind.name.split("-"))
        operation["operationId"] = f"getFigure{name}"
        operation["summary"] = f"figure of {kind.name}"
        operation["description"] = _DOC.format(doc=kind.doc, answer=kind.answer)
        operation["parameters"] = [each for each in operation["parameters"] if each["name"] != "format"]
        for parameter in operation["parameters"]:
            lift(parameter)
        operation["responses"] = _responses()
    _describe_papers(document)


def _describe_papers(document: dict[str, Any]) -> None:
    operation = document["paths"].get(PAPERS, {}).get("get")
    if operation is not None:
        operation |= {
            "operationId": "getPaperFigure",
            "summary": "figure of a paper",
            "description": _PAPERS_DOC,
            "parameters": [each for each in operation["parameters"] if each["name"] != "format"],
            "responses": _responses(),
        }
        for parameter in operation["parameters"]:
            lift(parameter)


def _responses() -> dict[int | str, Any]:
    """What a path of figures answers."""
    return {
        "200": {
            "description": "The figure.",
            "headers": {
                "LossLake-Release": header("The release that answered.", "integer", 1),
                "ETag": header("Strong: the same tag is the same bytes.", "string", '"0d5a1c7e5b5e0f6d"'),
            },
            "content": {
                kind_of_media.partition(";")[0]: {"schema": _schema(ending)}
                for ending, kind_of_media in MEDIA_TYPES.items()
            },
        },
        "206": {"description": "The range that was asked for."},
        "304": {"description": "The requester has this figure already: its ETag was in If-None-Match."},
        **problem_responses(404, 412, 416, 422, 429, 431, 500, 503),
    }


def _schema(ending: str) -> dict[str, Any]:
    if ending == "vl.json":
        return {"type": "object", "description": "A Vega-Lite specification, with its data."}
    return {"type": "string"} | ({} if ending in ("csv", "svg") else {"format": "binary"})
