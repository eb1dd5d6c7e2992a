"""The questions of `losslake push` on a terminal: facts of logs, licence, contributor, service and token."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from losslake_cli.console import echo, printable
from losslake_cli.contributing.missing_facts import (
    AXIS,
    Answers,
    Question,
    axis_of,
    metric_questions,
    problem_of,
    questions_of,
    read_guesses,
)
from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    from losslake_contributions.client.conversion import Conversion
    from losslake_contributions.client.local_runs import LocalRun
    from losslake_contributions.client.push import Terms
    from losslake_ingest.pipeline.reading import Request

LICENCE = "CC-BY-4.0"


def is_terminal() -> bool:
    """Return True if somebody can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def ask_url() -> str:
    """Ask for the address of the service."""
    return _ask("contribution service, https://…")


def ask_token(url: str) -> str:
    """Ask for the token, which isn't shown; say first where to make one, if the service at the URL says it."""
    from losslake_contributions.client.connection import find_sign_in

    page = find_sign_in(url)
    if page:
        echo(f"token        sign in at {page} to make one")
    return str(typer.prompt("token, llc_… (it isn't shown)", hide_input=True)).strip()


def complete_mappings(paths: Sequence[Path], request: Request, scratch: Path) -> None:
    """Ask for what logs don't state, until the runs of each path are complete; write it beside the logs.

    scratch: an empty folder. Raises LossLakeError if an answer doesn't help, or a line can't be asked for.
    """
    from losslake_contributions.client.conversion import Conversion, convert, prepare
    from losslake_ingest.readers.recorded.folder import is_spool

    for number, path in enumerate(paths):
        answers = Answers(path.parent if is_spool(path) or not path.is_dir() else path)
        asked: set[tuple[str, str, bool]] = set()
        while True:
            into = Path(tempfile.mkdtemp(prefix=f"{number}-", dir=scratch))
            conversion = prepare([path], request, into)
            if not conversion.sources:  # recorded runs, which need a mapping only if an ingest would refuse them
                conversion = Conversion(missing=convert([str(path)], request, into).missing)
            guesses = _guesses(path, into) if conversion.missing else {}
            questions = questions_of(conversion.missing, guesses, answers.folder)
            questions = questions or [
                each for each in metric_questions(conversion.sources) if _identity(each) not in asked
            ]
            if not questions and conversion.sources and _lack_licence(conversion):
                questions = [Question("collection", "licence", LICENCE, "of the measurements")]
            if not questions:
                break
            if asked.issuperset(map(_identity, questions)):
                question = questions[0]
                detail = f"{question.name} is still missing ({printable(question.hint)})"
                raise LossLakeError(f"{detail}: correct {answers.file}, and push again")
            if not asked:
                echo(f"facts that {path} doesn't state are asked once, and kept in {answers.file}: correct them there")
                echo("an answer is for all of these runs: if they differ, press Ctrl-C, and have patterns read it from")
                echo("their paths (docs/mapping.md)")
            for question in questions:
                _answer(question, answers)
            asked.update(map(_identity, questions))


def _identity(question: Question) -> tuple[str, str, bool]:
    """Return what tells questions apart: the scale of a column is asked for after its metric."""
    return question.section, question.key, isinstance(question.proposal, dict)


def _lack_licence(conversion: Conversion) -> bool:
    return any(run.facts.get("licence") is None and run.recorded is None for run in conversion.runs.values())


def _guesses(path: Path, scratch: Path) -> dict[str, tuple[str, str]]:
    """Return what a draft of a mapping for the logs proposes, by fact."""
    from losslake_ingest.pipeline.mapping_draft import draft_mapping

    try:
        return read_guesses(draft_mapping(path, output=scratch / "draft.toml").read_text("utf-8"))
    except LossLakeError:
        return {}


def _answer(question: Question, answers: Answers) -> None:
    """Ask one question, again while the answer can't be right, and write the answer."""
    if isinstance(question.proposal, dict):
        echo(question.hint)
        line = ", ".join(f"{key} {value}" for key, value in question.proposal.items())
        if not typer.confirm(printable(f"column {question.key}: {line}"), default=True):
            raise LossLakeError(f"correct the line of {question.key} in {answers.file}, and push again")
        answers.add(question, question.proposal)
        return
    if question.section == AXIS:
        echo(f"{question.hint}. If it is the number of updates so far, answer updates, or updates_from_zero if the")
        echo("first update is 0. If it counts calls of the logger, answer the number of updates between two calls;")
        echo("call 0 is then at update 0.")
        answer = _ask(f"{question.key} counts", None, lambda text: problem_of(question, text))
        answers.add(question, axis_of(question.key, answer))
        return
    is_metric = question.section == "metrics"
    label = f"column {question.key} is the metric (- for none)" if is_metric else f"{question.name} ({question.hint})"
    answer = _ask(label, question.proposal, lambda text: problem_of(question, "" if text == "-" else text))
    value: Any = int(answer) if question.is_number and answer.isdecimal() else answer
    answers.add(question, "" if is_metric and answer == "-" else value)


def ask_terms(terms: Terms, runs: Sequence[LocalRun]) -> Terms:
    """Ask for the licence and the contributor where neither the options nor the runs say them."""
    from losslake_contributions.client.push import parse_credit

    if terms.licence is None and all(run.facts.licence is None for run in runs):
        terms = replace(terms, licence=_ask("licence of the measurements", LICENCE))
    if not terms.contributors:
        name = _ask("contributor to be cited (- for the name of your token)", "-")
        if name != "-":
            orcid = _ask("ORCID iD (- for none)", "-", lambda text: _credit_problem(name, text))
            terms = replace(terms, contributors=(parse_credit(_credit(name, orcid)),))
    return terms


def _credit(name: str, orcid: str) -> str:
    return name if orcid == "-" else f"{name}; {orcid}"


def _credit_problem(name: str, orcid: str) -> str | None:
    from losslake_contributions.client.push import parse_credit

    try:
        parse_credit(_credit(name, orcid))
    except LossLakeError as error:
        return str(error)
    return None


def _ask(label: str, default: object = None, problem: Callable[[str], str | None] = lambda _: None) -> str:
    """Return an answer, which isn't empty; ask again while there is a problem with it."""
    shown = None if default is None else printable(default)
    while True:
        answer = str(typer.prompt(printable(label), default=shown)).strip()
        why = problem(answer)
        if answer and why is None:
            return answer
        echo(f"  {answer} {why}" if why else "  give an answer, or press Ctrl-C")
