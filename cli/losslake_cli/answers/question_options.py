"""The options of a command that asks a question, derived from the question's parameters."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field, make_dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from losslake.output.answer import Answer
from losslake.questions.declaration.parameters import ReleaseParameters
from losslake.questions.declaration.question import Question
from losslake.questions.release.errors import BadParameter, reason_of
from losslake.questions.release.view import ReleaseView
from losslake_cli.answers.analysis_table import with_options
from losslake_cli.completion import complete_metric, complete_workload
from losslake_cli.console import Format, LakeOption, ReleaseOption
from losslake_schema.errors import LossLakeError

# The name of an option, its type, and its default.
Option = tuple[str, Any, Any]
COMMON: tuple[Option, ...] = (("lake", LakeOption, None), ("release", ReleaseOption, None))
# The parameters for which commands have options of their own.
_OF_COMMANDS = ReleaseParameters.model_fields
_COMPLETIONS = {"metric": complete_metric, "workload": complete_workload}
WORKLOAD = "workload"
"""The parameter that commands take as an argument, too."""


def command(run: Callable[[Any], None], options: Collection[Option]) -> type:
    """Return what Typer takes as a command with these options: a dataclass of them, which runs once it is made.

    run: takes the dataclass.
    """
    fields = [(name, kind, field(default=default)) for name, kind, default in options]
    return make_dataclass("Options", fields, kw_only=True, namespace={"__post_init__": run})


def workload_argument(name: str, default: str) -> Option:
    """Return the argument that names workloads, as `named_workload` finds them. default: what its help says last."""
    argument = typer.Argument(
        metavar="[WORKLOAD]…",
        autocompletion=complete_workload,
        help="collection/dataset/model/optimizer, or words that match one workload (softmax sgd). A * in a part is any "
        f"text: workloads that match are pooled by batch size. {default}",
    )
    return name, Annotated[list[str] | None, argument], None


def options_of(question: Question, but: Collection[str] = ()) -> Iterator[Option]:
    """Yield an option for each parameter that only questions have, as text that `answer_to` parses.

    but: parameters without an option.
    """
    for name, parameter in question.parameters.model_fields.items():
        if name not in _OF_COMMANDS and name not in but:
            option = typer.Option(
                _flag(name),
                metavar=_metavar(name, parameter),
                help=_help(parameter),
                autocompletion=_COMPLETIONS.get(name),
            )
            kind = list[str] if get_origin(parameter.annotation) is list else str
            yield name, Annotated[kind | None, option], None


def parameters_in(options: Any, question: Question) -> dict[str, Any]:
    """Return the parameters of a question that were given as options."""
    names = [name for name in question.parameters.model_fields if name not in _OF_COMMANDS]
    values = {name: getattr(options, name, None) for name in names}
    return {name: value for name, value in values.items() if value not in (None, [])}


def answer_to(question: Question, view: ReleaseView, values: Mapping[str, Any], command_name: str) -> Answer:
    """Return the answer to parameters; raise LossLakeError that names the options. command_name: for advice."""
    try:
        parameters = question.parameters.model_validate(values)
    except ValidationError as error:
        raise LossLakeError(_refusal(error, command_name)) from None
    try:
        return question.answer(view, parameters)
    except BadParameter as error:
        raise LossLakeError(with_options(str(error), question.parameters.model_fields)) from None


def write_answer(answer: Answer, format: Format) -> None:  # noqa: A002
    """Write an answer to standard output as the service does, and end a line after JSON."""
    from losslake.output.formats import FORMATS  # imports Polars, which takes time

    for piece in FORMATS[format].encode(answer):
        sys.stdout.buffer.write(piece)
    if format == "json":
        sys.stdout.buffer.write(b"\n")


def _refusal(error: ValidationError, command_name: str) -> str:
    fault = error.errors()[0]
    option = _flag(str(fault["loc"][0])) if fault["loc"] else "the options"
    if fault["type"] == "missing":
        option = WORKLOAD.upper() if fault["loc"][0] == WORKLOAD else option
        return f"give {option}: '{command_name} --help' describes it"
    return f"{option} {fault['input']}: {reason_of(fault)}"


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _metavar(name: str, parameter: FieldInfo) -> str:
    """Return the choices of a literal, or the name in capitals."""
    kinds = (parameter.annotation, *get_args(parameter.annotation))
    choices = next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), ())
    return "|".join(map(str, choices)) or name.upper()


def _help(parameter: FieldInfo) -> str:
    text = " ".join((parameter.description or "").split())
    default = parameter.default
    has_default = parameter.is_required() or "efault" in text or default in (None, "") or parameter.default_factory
    return text if has_default else f"{text} Default: {default}."
