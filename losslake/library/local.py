"""Answers of a lake on this machine or in a bucket, by the same questions that a service answers."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, get_origin
from urllib.parse import urlencode

import duckdb
import pyarrow as pa
from pydantic import ValidationError

from losslake.figures.charts import kinds
from losslake.figures.drawing import Kind
from losslake.figures.figure import IMAGES
from losslake.figures.links import Links
from losslake.figures.requests import answer_to_draw, figure_parameters, query_url, specification
from losslake.index.read_only import check_read_only, gives_only_rows
from losslake.lake.lake import Lake
from losslake.library.service import pairs
from losslake.output.answer import Answer
from losslake.output.formats import FORMATS
from losslake.questions.declaration.question import Question, with_goal
from losslake.questions.lists.filters import METAPARAMETER, filters_of
from losslake.questions.lists.lists import ListRequest
from losslake.questions.questions import QUESTIONS
from losslake.questions.release.errors import BadParameter, UnknownName, near_names
from losslake.questions.release.view import ReleaseView
from losslake_schema.errors import LossLakeError

_MOST_OPEN = 4


class LocalSource:
    """The releases of a lake. location: as `Lake.open` takes it."""

    def __init__(self, location: str | Path | None) -> None:
        self._lake = Lake.open(location)
        self.name = str(self._lake)
        self._opened = lru_cache(_MOST_OPEN)(lambda number: ReleaseView.open(self._lake, self._lake.release(number)))

    def answer(self, path: str, parameters: Mapping[str, Any], release: int | None) -> pa.Table:
        """Return an answer as the service would send it; raises UnknownName and BadParameter."""
        question = next(each for each in QUESTIONS if each.path == path)
        fields = question.parameters.model_fields
        filters = {name: value for name, value in parameters.items() if name not in fields and value is not None}
        columns = {} if question.listing is None else filters_of(question.listing)
        for name in filters:
            if name not in columns and not (columns and name.startswith(METAPARAMETER)):
                raise _unknown(name, {**fields, **columns})
        arguments = _checked(question.parameters, {k: v for k, v in parameters.items() if k not in filters})
        subject = self.view(release) if question.is_of_release else self._lake
        if question.listing is not None:
            texts = {name: [text for _, text in pairs({name: value})] for name, value in filters.items()}
            arguments = ListRequest(arguments, texts, is_json=False)
        return _as_sent(question.answer(subject, arguments))

    def figure(self, kind: str, parameters: Mapping[str, Any], ending: str) -> bytes:
        """Return a figure; raises UnknownName and BadParameter."""
        drawn = next((each for each in kinds() if each.name == kind), None)
        if drawn is None:
            raise UnknownName("figure", kind, near_names(kind, [each.name for each in kinds()]), "the library")
        question = next(each for each in QUESTIONS if each.path == drawn.answer)
        specified = self._specification(drawn, question, parameters)
        if ending not in IMAGES:
            return specified
        # Imported here, since only images need the renderer.
        from losslake.figures.rendering import render_image

        return render_image(specified, IMAGES[ending], float(parameters.get("scale", 2)))

    def _specification(self, kind: Kind, question: Question, parameters: Mapping[str, Any]) -> bytes:
        model = figure_parameters(kind, question)
        view = self.view(parameters.get("release"))
        arguments = kind.with_defaults(with_goal(view, _checked(model, parameters)))
        url = query_url(kind, urlencode(list(pairs(parameters))).encode(), view.number)
        answer = answer_to_draw(kind, question, view, arguments)
        return specification(kind, view, answer, arguments, url, Links("", None))

    def sql(self, statement: str, parameters: Any, release: int | None) -> pa.Table:
        """Return the result of a statement, of which only reading ones run; raises LossLakeError."""
        view = self.view(release)
        cursor = view.cursor()
        try:
            statements = cursor.extract_statements(statement)
            if len(statements) != 1:
                raise LossLakeError(f"give one statement, not {len(statements)}")
            check_read_only(statements[0])
            if not gives_only_rows(statements[0]):
                raise LossLakeError("only statements with a result run here, such as SELECT")
            relation = cursor.sql(statements[0], params=parameters)
        except duckdb.Error as error:
            raise LossLakeError(str(error)) from None
        reader = relation.to_arrow_reader()
        return _as_sent(Answer({"release": view.number}, reader.schema, iter(reader)))

    def view(self, release: int | None) -> ReleaseView:
        """Return an open release; None for the newest. Those used last stay open."""
        return self._opened(self._lake.release(release).number)


def _as_sent(answer: Answer) -> pa.Table:
    """Return the answer as a client reads it: with the types and the bytes of the Arrow stream."""
    sink = io.BytesIO()
    for piece in FORMATS["arrow"].encode(answer):
        sink.write(piece)
    return pa.ipc.open_stream(pa.py_buffer(sink.getvalue())).read_all()


def _checked(model: Any, parameters: Mapping[str, Any]) -> Any:
    """Return validated parameters; raises BadParameter."""
    values: dict[str, Any] = {}
    for name, value in parameters.items():
        if name not in model.model_fields:
            raise _unknown(name, model.model_fields)
        may_repeat = get_origin(model.model_fields[name].annotation) is list
        if value is not None:
            values[name] = [value] if may_repeat and not isinstance(value, list) else value
    try:
        return model.model_validate(values)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
    name = str(fault["loc"][0]) if fault["loc"] else "parameters"
    if fault["type"] == "missing":
        raise BadParameter(name, f"give {name}=") from None
    raise BadParameter(name, f"{name}={json.dumps(fault['input'], default=str)}: {fault['msg']}") from None


def _unknown(name: str, names: Mapping[str, object]) -> BadParameter:
    return BadParameter(name, f"there is no parameter '{name}': did you mean {' or '.join(near_names(name, names))}?")
