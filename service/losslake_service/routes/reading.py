"""Routes that read their query into a pydantic model, and refuse parameters that are unknown or repeated.

FastAPI documents these routes like any others, when its document is asked for, and Starlette serves them: FastAPI would
use the last value of a repeated parameter, and take 0.33 ms longer. ARCHITECTURE.md has the numbers.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request, params
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.routing import Match, Route, compile_path
from starlette.types import Scope

from losslake.questions.release.errors import near_names
from losslake_service.problems import ParameterProblem, no_parameters
from losslake_service.routes.negotiation import ENDINGS

Parameters = TypeVar("Parameters", bound=BaseModel)
Endpoint = Callable[..., Awaitable[Response]]
_MAX_PARAMETERS = 2000


class PlainRoute(Route):
    """A route that Starlette serves; its endpoint gets the request alone.

    FastAPI would analyze each endpoint when the service starts, for parameters that there are none of. is_cached: the
    answer cache keeps its responses, which depend on the release and the request only.
    """

    is_cached = False

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Return if the route matches, and what it adds to the scope: also itself, as FastAPI's routes do."""
        match, child_scope = super().matches(scope)
        if match != Match.NONE:
            child_scope["route"] = self
        return match, child_scope


class ReadRoute(PlainRoute):
    """A route whose endpoint gets the request, its path parameters, and the query as `parameters`.

    `parameters` is annotated with a pydantic model. An endpoint without it accepts no query parameters. An endpoint
    that needs anything else, such as a dependency, is refused, since it would be left out. has_endings: it answers at
    its path with a format suffix as well, such as /v1/scaling.csv, and is documented without. See `negotiation`.
    """

    def __init__(
        self, path: str, endpoint: Endpoint, methods: Sequence[str], openapi: Mapping[str, Any], has_endings: bool
    ) -> None:
        in_schema = openapi.get("include_in_schema", True)
        super().__init__(path, self._respond, methods=methods, include_in_schema=in_schema)
        self._documented_endpoint = endpoint
        self._openapi = openapi
        hints = get_type_hints(endpoint, include_extras=True)
        hints.pop("return", None)
        self._path_parameters = self.param_convertors.keys() & hints.keys()
        parameters = hints.get("parameters")
        is_model = any(isinstance(each, params.Query) for each in getattr(parameters, "__metadata__", ()))
        self._model = get_args(parameters)[0] if is_model else None
        if hints.keys() - self._path_parameters - ({"request", "parameters"} if is_model else {"request"}):
            raise TypeError(f"{path} has dependencies, or parameters that are neither in its path nor in its model")
        if has_endings:
            self.path_regex, _, self.param_convertors = compile_path(f"{path}{{ending:ending}}")

    def documented(self) -> APIRoute:
        """Return the route as FastAPI documents it: without HEAD, which would have the id of GET."""
        methods = [*((self.methods or set()) - {"HEAD"})]
        return APIRoute(self.path, self._documented_endpoint, methods=methods, response_class=Response, **self._openapi)

    async def _respond(self, request: Request) -> Response:
        # A router that includes the route makes another one of its endpoint, and may add dependencies.
        if request.scope.get("route") is not self:
            raise TypeError(f"{self.path} is read by ReadRoute, so add it to the application's router, not to another")
        query: bytes = request.scope["query_string"]
        arguments = {name: request.path_params[name] for name in self._path_parameters}
        if self._model is not None:
            arguments["parameters"] = read_query(query, self._model)
        elif query:
            await no_parameters(request)
        response: Response = await self._documented_endpoint(request, **arguments)
        return response


def add_read_route(
    router: APIRouter,
    path: str,
    endpoint: Endpoint,
    *,
    methods: Sequence[str] = ("GET", "HEAD"),
    has_endings: bool = False,
    is_cached: bool = False,
    **openapi: Any,
) -> None:
    """Add a route, documented in OpenAPI except for HEAD.

    has_endings: as of `ReadRoute`. is_cached: as of `PlainRoute`. Raises TypeError if the endpoint needs what a
    `ReadRoute` doesn't give it.
    """
    if router.dependencies or "dependencies" in openapi:
        raise TypeError(f"{path} has dependencies: a ReadRoute would leave them out")
    route = ReadRoute(path, endpoint, methods, openapi, has_endings)
    route.is_cached = is_cached
    router.routes.append(route)


def add_undocumented_route(
    router: APIRouter, path: str, endpoint: Callable[[Request], Awaitable[Response]], *, is_cached: bool = False
) -> None:
    """Add a route for GET and HEAD that OpenAPI doesn't have. is_cached: as of `PlainRoute`."""
    route = PlainRoute(path, endpoint, methods=["GET", "HEAD"], include_in_schema=False)
    route.is_cached = is_cached
    router.routes.append(route)


class _EndingConvertor(StringConvertor):
    """A format suffix of a path, such as .csv, or the empty string."""

    regex = "|".join(map(re.escape, ("", *ENDINGS)))


register_url_convertor("ending", _EndingConvertor())


def read_query(query: bytes, model: type[Parameters]) -> Parameters:
    """Parse a query string into a model; raise ParameterProblem and RequestValidationError.

    The model's setting `extra` decides about unknown parameters: "forbid" refuses them and "allow" keeps them as lists
    of strings. "ignore", for the links and forms of pages, drops them, drops empty values, and uses the last value of a
    parameter that is repeated by mistake.
    """
    fields, lists, extra = model.model_fields, _list_parameters(model), model.model_config.get("extra", "forbid")
    values: dict[str, Any] = {}
    for name, text in _pairs(query):
        if extra == "ignore" and (name not in fields or not text):
            continue
        if extra == "forbid" and name not in fields:
            raise unknown_parameter(name, fields)
        if name in lists or name not in fields:
            values.setdefault(name, []).append(text)
        elif name in values and extra != "ignore":
            raise ParameterProblem("bad-parameter", name, f"the parameter '{name}' is given twice: give it once")
        else:
            values[name] = text
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise RequestValidationError([{**e, "loc": ("query", *e["loc"])} for e in error.errors()]) from None


def unknown_parameter(name: str, fields: Mapping[str, object]) -> ParameterProblem:
    """Return the error for an unknown parameter, with similar names."""
    names = ", ".join(near_names(name, fields))
    return ParameterProblem(
        "unknown-parameter",
        name,
        f"there is no parameter '{name}' here; did you mean one of {names}? /docs/reference lists all",
    )


@cache
def _list_parameters(model: type[BaseModel]) -> frozenset[str]:
    """Return the names of the parameters that may be repeated."""
    return frozenset(name for name, field in model.model_fields.items() if get_origin(field.annotation) is list)


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query.decode("ascii", "replace"), keep_blank_values=True, max_num_fields=_MAX_PARAMETERS)
    except ValueError:
        why = f"there are too many parameters: give at most {_MAX_PARAMETERS:,}"
        raise ParameterProblem("bad-parameter", "query", why) from None
