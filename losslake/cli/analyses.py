"""The commands of `losslake analyze`, one for each question under /v1/analysis, with the same parameters."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from inspect import Parameter, Signature
from typing import Annotated, Any, Literal, get_args, get_origin

import typer
from pydantic import ValidationError
from pydantic.fields import FieldInfo
from typer.core import TyperGroup

from losslake.cli.analysis_table import print_table, with_options
from losslake.cli.console import Format, LakeOption, ReleaseOption
from losslake.lake.lake import Lake
from losslake.output.formats import FORMATS
from losslake.questions.declaration.parameters import ReleaseParameters
from losslake.questions.declaration.question import Question
from losslake.questions.questions import ANALYSES, PREFIX
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_words import named_workload
from losslake_schema.errors import LossLakeError

_HELP = "Analyze a lake. The service gives the same answers under /v1/analysis."


class _Listed(TyperGroup):
    """A group that lists its commands with their whole help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help or "") for name, command in self.commands.items()])


def analyses() -> typer.Typer:
    """Return the application with the commands."""
    app = typer.Typer(
        cls=_Listed,
        help=_HELP,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback(help=_HELP)(_no_options)
    for question in ANALYSES:
        app.command(question.path.removeprefix(PREFIX), help=question.doc)(_command(question))
    return app


def _no_options() -> None:
    """Do nothing. Without a callback, a single command would become the application itself."""


def _command(question: Question) -> Callable[..., None]:
    def run(lake: str | None, release: int | None, format: Format, **given: Any) -> None:  # noqa: A002
        opened = Lake.open(lake)
        view = ReleaseView.open(opened, opened.release(release))
        values = {name: value for name, value in given.items() if value not in (None, [])}
        if "workload" in values:
            values["workload"] = [str(named_workload(view, text)) for text in values["workload"]]
        parameters = _parameters(question, values)
        output = FORMATS["json" if format == "table" else format]
        try:
            answer = question.answer_with_goal(view, parameters)
        except BadParameter as error:
            raise LossLakeError(with_options(str(error), question.parameters.model_fields)) from None
        if format == "table":
            print_table(answer, question.parameters.model_fields)
            return
        for piece in output.encode(answer):
            sys.stdout.buffer.write(piece)
        if format == "json":
            sys.stdout.buffer.write(b"\n")

    signature = Signature([*_options(question), *_common_options()])
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {name: each.annotation for name, each in signature.parameters.items()}
    return run


def _options(question: Question) -> Iterator[Parameter]:
    for name, field in question.parameters.model_fields.items():
        if name not in ReleaseParameters.model_fields:
            option = typer.Option(f"--{name.replace('_', '-')}", metavar=_metavar(name, field), help=_help(field))
            kind = list[str] if get_origin(field.annotation) is list else str
            yield Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option])


def _common_options() -> Iterator[Parameter]:
    format_option = Annotated[Format, typer.Option(help="Output format.")]
    for name, default, annotation in (
        ("lake", None, LakeOption),
        ("release", None, ReleaseOption),
        ("format", "table", format_option),
    ):
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _metavar(name: str, field: FieldInfo) -> str:
    """Return the choices of a literal, or the name in capitals."""
    kinds = (field.annotation, *get_args(field.annotation))
    choices = next((get_args(kind) for kind in kinds if get_origin(kind) is Literal), ())
    return "|".join(map(str, choices)) or name.upper()


def _help(field: FieldInfo) -> str:
    text = " ".join((field.description or "").split())
    has_default = field.is_required() or "efault" in text or field.default in (None, "") or field.default_factory
    return text if has_default else f"{text} Default: {field.default}."


def _parameters(question: Question, given: Mapping[str, Any]) -> Any:
    """Return the validated parameters; raise LossLakeError that names the options."""
    try:
        return question.parameters.model_validate(given)
    except ValidationError as error:
        fault = error.errors()[0]
    option = f"--{str(fault['loc'][0]).replace('_', '-')}" if fault["loc"] else "the options"
    if fault["type"] == "missing":
        raise LossLakeError(
            f"give {option}: 'losslake analyze {question.path.removeprefix(PREFIX)} --help' describes it"
        )
    why = str(fault["ctx"]["error"]) if fault["type"] == "value_error" else str(fault["msg"])
    raise LossLakeError(f"{option} {fault['input']}: {why[:1].lower()}{why[1:]}")
