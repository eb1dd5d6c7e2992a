"""The request for a figure: the parameters of its answer and of its frame, and the specification."""

from __future__ import annotations

import re
from functools import cache
from typing import Annotated, Any
from urllib.parse import parse_qsl, quote, urlencode

import orjson
import pyarrow as pa
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from losslake.figures.drawing import ChartRequest, Kind
from losslake.figures.links import Links
from losslake.figures.theme import Theme, in_theme
from losslake.output.answer import Answer
from losslake.output.rows import unit
from losslake.questions.declaration.parameters import Natural
from losslake.questions.declaration.question import Question
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView

_PX = unit("px")
_INVALID_IN_XML = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def _check_title(title: str | None) -> str | None:
    """Return the title if it is valid in SVG; raise ValueError."""
    if title is not None and _INVALID_IN_XML.search(title):
        raise ValueError("give one line of text without control characters")
    return title


class ThemeParameters(BaseModel):
    """The colour theme of a figure."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    theme: Annotated[Theme, Field(examples=["dark"])] = "light"
    """The theme: light has a white background, dark a nearly black one with lighter colours."""


class FrameParameters(ThemeParameters):
    """The size and the title of a figure."""

    title: Annotated[
        str | None, Field(max_length=200, examples=["Momentum extends perfect scaling"]), AfterValidator(_check_title)
    ] = None
    """Title of the figure; default: a description. In a figure of several plots it begins the caption."""
    width: Annotated[Natural, Field(ge=240, le=1600, examples=[480], json_schema_extra=_PX)] = 480
    """Width of the figure, including axes and caption."""
    height: Annotated[Natural, Field(ge=200, le=1200, examples=[400], json_schema_extra=_PX)] = 400
    """Approximate height, including title and caption; a long caption or legend increases it."""
    captioned: Annotated[bool, Field(examples=[False])] = True
    """Draw the heading and the caption. Without them, the specification has their text in `usermeta`."""
    scale: Annotated[
        float, Field(ge=0.5, le=4, allow_inf_nan=False, examples=[2], json_schema_extra=unit("pixels per px"))
    ] = 2
    """For PNG only: pixels per px of width and height."""


def figure_parameters(kind: Kind, question: Question) -> Any:
    """Return the model of the parameters of a figure: of its frame, its own, and those of its answer."""
    extra = (kind.parameters,) if kind.parameters is not None else ()
    return _joined((FrameParameters, *extra, question.parameters))


@cache
def _joined(bases: Any) -> type[BaseModel]:
    """Return a model with the fields of several."""
    # The fields have their docstrings from the bases: pydantic would look for the source of this class in every module.
    config = {"use_attribute_docstrings": False}
    model: type[BaseModel] = create_model(f"{bases[-1].__name__}OfFigure", __base__=bases, __cls_kwargs__=config)
    return model


def answer_to_draw(kind: Kind, question: Question, view: ReleaseView, parameters: Any) -> Answer:
    """Return the answer to draw, with its rows in memory; raise BadParameter if there are too many to be legible."""
    if getattr(parameters, "fields", ""):
        raise BadParameter("fields", "a figure is drawn from all columns: leave fields out")
    answer = question.answer(view, parameters)
    batches: list[pa.RecordBatch] = []
    for batch in answer.batches:
        batches.append(batch)
        if sum(each.num_rows for each in batches) > kind.most_rows:
            name = next(name for name in ("metric", "workload") if isinstance(getattr(parameters, name, None), list))
            raise BadParameter(name, f"a figure shows at most {kind.most_rows:,} rows: give fewer {name}s")
    return Answer(answer.facts, answer.schema, iter(batches))


def specification(
    kind: Kind, view: ReleaseView, answer: Answer, parameters: Any, url: str, links: Links | None = None
) -> bytes:
    """Return the Vega-Lite specification as JSON. All numbers are finite, as charts drop the others."""
    chart = ChartRequest(
        rows=answer.table(),
        facts=answer.facts,
        view=view,
        parameters=parameters,
        query=url,
        width=parameters.width,
        height=parameters.height,
        title=parameters.title,
        links=links,
        is_captioned=parameters.captioned,
    )
    return orjson.dumps(in_theme(kind.specification(chart), parameters.theme))


def query_url(kind: Kind, query: bytes, release: int) -> str:
    """Return the path of the drawn rows, pinned to the release."""
    pairs = parse_qsl(query.decode("ascii", "replace"), keep_blank_values=True)
    of_figure = {"release", *FrameParameters.model_fields, *(kind.parameters.model_fields if kind.parameters else ())}
    kept = [pair for pair in pairs if pair[0] not in of_figure]
    named = {name for name, _ in kept}
    is_plain = not {name for name, _ in pairs} & set(kind.unless)
    added = [(name, str(value)) for name, value in kind.defaults.items() if is_plain and name not in named]
    return f"{kind.answer}?{urlencode([*kept, *added, ('release', release)], safe='/', quote_via=quote)}"
