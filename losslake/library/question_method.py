"""The method that asks a question, with the signature and the docstring of its declaration."""

from __future__ import annotations

# Sequence, Literal and Curve are for typing.get_type_hints(), which evaluates the annotations of methods here.
from collections.abc import Callable, Sequence  # noqa: F401
from inspect import Parameter, Signature
from typing import Any, Literal, TypedDict  # noqa: F401

from losslake.library.result import Curve, Result, result_type  # noqa: F401


class Declaration(TypedDict):
    """A question as `methods.json` declares it, so that a client needs none of the libraries that answer questions.

    parameters: the annotation by name, in the order of a request. required: the names of those without a default.
    has_filters: the question is a list, and takes its columns as parameters too.
    """

    path: str
    parameters: dict[str, str]
    required: list[str]
    has_filters: bool
    doc: str


def question_method(name: str, question: Declaration) -> Callable[..., Result]:
    """Return the method of lakes that asks a question."""
    path, parameters = question["path"], question["parameters"]
    signature = _signature(question)

    def method(self: Any, /, *positional: Any, **named: Any) -> Result:
        try:
            arguments = signature.bind(self, *positional, **named).arguments
        except TypeError as error:
            raise TypeError(f"{method.__qualname__}() {error}") from None
        values = {each: arguments.get(each) for each in parameters} | arguments.get("filters", {})
        answer: Result = self._answer(path, values)
        return answer

    annotations = {each.name: each.annotation for each in signature.parameters.values() if each.name != "self"}
    method.__name__, method.__qualname__, method.__doc__ = name, f"Lake.{name}", question["doc"]
    method.__annotations__ = {**annotations, "return": signature.return_annotation}
    method.__signature__ = signature  # type: ignore[attr-defined]  # inspect.signature() and help() read it
    return method


def _signature(question: Declaration) -> Signature:
    parameters, required = question["parameters"], question["required"]
    optional = [name for name in parameters if name not in required]
    arguments = [
        Parameter("self", Parameter.POSITIONAL_OR_KEYWORD),
        *(Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=parameters[name]) for name in required),
        *(Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=parameters[name]) for name in optional),
    ]
    if question["has_filters"]:
        arguments.append(Parameter("filters", Parameter.VAR_KEYWORD, annotation="Any"))
    return Signature(arguments, return_annotation=result_type(question["path"]).__name__)
