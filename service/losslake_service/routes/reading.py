"""Reading the query of a URL: into parameters, and into the filters of a list."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar, get_origin
from urllib.parse import parse_qsl

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError

from losslake.questions.errors import near_names
from losslake_service.problems import ParameterProblem

Parameters = TypeVar("Parameters", bound=BaseModel)
_MOST_PARAMETERS = 2000


def read_query(
    query: bytes, shape: type[Parameters], is_filter: Callable[[str], bool] = lambda _: False
) -> tuple[Parameters, Mapping[str, list[str]]]:
    """The parameters that a query gives, and its filters as they stand; raises ParameterProblem.

    What is neither is refused, and so is a parameter given twice that takes one value.
    """
    fields = shape.model_fields
    values: dict[str, object] = {}
    filters: dict[str, list[str]] = {}
    for name, text in _pairs(query):
        if name in fields:
            if get_origin(fields[name].annotation) is list:
                found = values.setdefault(name, [])
                assert isinstance(found, list)
                found.append(text)
            elif name in values:
                why = f"the parameter '{name}' is given twice: give it once"
                raise ParameterProblem("bad-parameter", name, why)
            else:
                values[name] = text
        elif is_filter(name):
            filters.setdefault(name, []).append(text)
        else:
            known = ", ".join(near_names(name, fields))
            why = f"there is no parameter '{name}' here; did you mean one of {known}? /docs lists all"
            raise ParameterProblem("unknown-parameter", name, why if fields else f"there is no parameter '{name}' here")
    return _validated(shape, values), filters


def read_known(query: bytes, shape: type[Parameters]) -> Parameters:
    """The parameters that a query gives, passing over all else, and over those without a value, as forms send them.

    Of a parameter given twice that takes one value, the last one holds. Raises RequestValidationError.
    """
    values: dict[str, object] = {}
    for name, text in _pairs(query):
        field = shape.model_fields.get(name)
        if field is not None and text:
            if get_origin(field.annotation) is list:
                found = values.setdefault(name, [])
                assert isinstance(found, list)
                found.append(text)
            else:
                values[name] = text
    return _validated(shape, values)


def _validated(shape: type[Parameters], values: Mapping[str, object]) -> Parameters:
    try:
        return shape.model_validate(values)
    except ValidationError as error:
        raise RequestValidationError([{**e, "loc": ("query", *e["loc"])} for e in error.errors()]) from None


async def no_parameters(request: Request) -> None:
    """Refuse parameters where there are none."""
    for name in request.query_params:
        raise ParameterProblem("unknown-parameter", name, f"there is no parameter '{name}' here: leave it out")


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query.decode("ascii", "replace"), keep_blank_values=True, max_num_fields=_MOST_PARAMETERS)
    except ValueError:
        why = f"there are too many parameters: give at most {_MOST_PARAMETERS:,}"
        raise ParameterProblem("bad-parameter", "query", why) from None
