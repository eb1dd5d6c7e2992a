"""Questions for the facts that logs don't state, and the `losslake.toml` beside the logs that keeps the answers."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    from losslake_ingest.contracts.report import SourceReport
    from losslake_ingest.contracts.rules import MissingField

_HEAD = """# Answers that were given to 'losslake push'. Correct them here: they count for every push, check and ingest.
# docs/mapping.md explains every line.
"""
_UNDER = re.compile(r"#.*?under \[(\w+)\]")
_HEADER = re.compile(r"\s*\[(\w+)\]\s*(#.*)?")
_GUESS = re.compile(r"# (?P<line>.+?)(?:   # (?P<comment>.*))?")
_UNKNOWN = ("…", "split/quantity")
AXIS = "axis"
_COUNTS = ("updates", "updates_from_zero")
_FACTS = {
    "dataset": "such as cifar10",
    "model": "such as resnet50",
    "optimizer": "such as adamw",
    "batch_size": "of an update, over all devices and accumulated gradients",
}


@dataclass(frozen=True)
class Question:
    """A line that a mapping lacks. proposal: its value, None if nothing suggests one. hint: why it is asked.

    In the section AXIS, the key is a column of steps of which nobody knows what it counts.
    """

    section: str
    key: str
    proposal: Any
    hint: str

    @property
    def name(self) -> str:
        """The fact, or the column, in words."""
        return "collection" if (self.section, self.key) == ("collection", "name") else self.key

    @property
    def is_number(self) -> bool:
        """True if the answer is a whole number: a batch size, or a field that its product needs."""
        return self.key == "batch_size" or (self.section == "fields" and self.key not in _FACTS)


def read_guesses(draft: str) -> dict[str, tuple[str, str]]:
    """Return what the draft of a mapping proposes for each fact, with its comment."""
    guesses: dict[str, tuple[str, str]] = {}
    section = ""
    for line in draft.splitlines():
        if header := _HEADER.fullmatch(line):
            section = header[1]
        match = _GUESS.fullmatch(line)
        if section != "run" or match is None:
            continue
        for key, value in _parsed(match["line"]).items():
            if key in _FACTS and isinstance(value, str) and value not in _UNKNOWN:
                guesses.setdefault(key, (value, match["comment"] or ""))
    return guesses


def questions_of(
    missing: Iterable[MissingField], guesses: Mapping[str, tuple[str, str]], folder: Path
) -> list[Question]:
    """Return the questions for the lines that a mapping lacks.

    folder: of the logs, after which the collection is named. Raises LossLakeError with a line that no answer gives.
    """
    questions: dict[tuple[str, str], Question] = {}
    for field in missing:
        section, lines = _UNDER.search(field.add), _parsed(field.add)
        if column := _counter_in(lines):
            questions[AXIS, column] = Question(AXIS, column, None, field.what)
            continue
        if section is None or len(lines) != 1:
            raise LossLakeError(f"{field.what}: add to {folder / 'losslake.toml'}: {field.inline}, and push again")
        ((key, value),) = lines.items()
        proposal, hint = guesses.get(key, (None if value in _UNKNOWN else value, _FACTS.get(key, field.what)))
        if section[1] == "metrics" and proposal is None:
            proposal = _guess_metric(key)
        if (section[1], key) == ("collection", "name"):
            proposal, hint = folder.resolve().name, "where these runs come from"
        questions[section[1], key] = Question(section[1], key, proposal, hint)
    return list(questions.values())


def _counter_in(lines: Mapping[str, Any]) -> str:
    """Return the column of steps that lines of a mapping ask about; empty if it counts epochs, or they ask for more."""
    match lines:
        case {"axis": [{"column": str(column), "counts": counts, **others}]} if counts in _COUNTS and not others:
            return column
    return ""


def axis_of(column: str, answer: str) -> dict[str, Any]:
    """Return the axis of a column: what it counts, or how many updates lie between two calls of a logger."""
    if answer in _COUNTS:
        return {"column": column, "counts": answer}
    return {"column": column, "counts": "calls", "scale": int(answer)}


def metric_questions(sources: Iterable[SourceReport]) -> list[Question]:
    """Return the questions for columns that nothing maps to a metric, and whose name is that of a quantity."""
    columns = dict.fromkeys(column for source in sources for column, _ in source.left_out)
    guesses = {column: _guess_metric(column) for column in columns}
    return [Question("metrics", column, guess, "not sent yet") for column, guess in guesses.items() if guess]


def _guess_metric(column: str) -> str | None:
    """Return the metric that columns of this name usually are: of the training, if the name doesn't say the split."""
    from losslake_ingest.mapping.metrics import guess_metric

    return guess_metric(column) or guess_metric(f"train_{column}")


def problem_of(question: Question, answer: str) -> str | None:
    """Return why a text can't be the answer; None if it can."""
    from losslake_ingest.contracts.rules import Refusal
    from losslake_ingest.mapping.metrics import checked_metric
    from losslake_schema.names import name_problem

    if question.section == "metrics":
        try:
            checked_metric(answer) if answer else None
        except Refusal as refusal:
            return refusal.message
        return None
    if question.section == AXIS:
        is_answer = answer in _COUNTS or (answer.isdecimal() and int(answer) > 0)
        return None if is_answer else f"is neither {' nor '.join(_COUNTS)} nor a whole number above 0"
    if "{" in answer:
        return None
    if question.key == "batch_size":
        return None if answer.isdecimal() and int(answer) > 0 else "is not a whole number above 0"
    if question.is_number:
        return None
    parts = answer.split("/") if question.name == "collection" else [answer]
    return next(filter(None, map(name_problem, parts)), None)


class Answers:
    """The mapping in the folder of some logs, to which answers are added. file: its path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = self.folder / "losslake.toml"

    def add(self, question: Question, value: Any) -> None:
        """Add the line of an answer, or replace it; raise LossLakeError if the file can't have it.

        value: a text, a whole number, or a table of texts and numbers.
        """
        from losslake.lake.machine import atomic_write
        from losslake_ingest.mapping.mapping import load_mapping
        from losslake_ingest.mapping.toml import toml_key

        section = (
            "run" if isinstance(value, str) and "{" in value and question.section == "fields" else question.section
        )
        is_axis = section == AXIS
        pairs = value if is_axis else {question.key: value}
        added = "\n".join(f"{toml_key(name)} = {_toml(each)}" for name, each in pairs.items())
        where = "[[axis]]" if is_axis else f"[{section}]"
        try:
            lines = (self.file.read_text("utf-8") if self.file.exists() else _HEAD).splitlines()
            lines = [*lines, "", where, added] if is_axis else _with_line(lines, section, question.key, added)
            text = "".join(f"{each}\n" for each in lines)
            tomllib.loads(text)
            with atomic_write(self.file) as unfinished:
                unfinished.write_text(text, "utf-8")
        except tomllib.TOMLDecodeError:
            raise LossLakeError(f"add to {self.file} under {where}: {added}, and push again") from None
        except OSError as error:
            detail = f"{self.file} can't be written ({error.strerror})"
            raise LossLakeError(f"{detail}: copy the logs, or give a mapping with --map") from None
        load_mapping(self.file)


def _with_line(lines: Sequence[str], section: str, key: str, line: str) -> list[str]:
    """Return the lines of a mapping with another one in a section, in the place of the key's if it is there."""
    changed, current, is_added = list[str](), "", False
    for each in lines:
        header = _HEADER.fullmatch(each)
        current = header[1] if header else "" if each.lstrip().startswith("[") else current
        if current == section and not header and not each.lstrip().startswith("#") and [*_parsed(each)] == [key]:
            continue
        changed.append(each)
        if header and current == section and not is_added:
            changed.append(line)
            is_added = True
    return changed if is_added else [*changed, "", f"[{section}]", line]


def _parsed(lines: str) -> dict[str, Any]:
    """Return the keys and values of lines of TOML; none if they aren't TOML."""
    try:
        return tomllib.loads(lines)
    except tomllib.TOMLDecodeError:
        return {}


def _toml(value: Any) -> str:
    from losslake_ingest.mapping.toml import toml_key, toml_value

    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml_key(key)} = {_toml(each)}" for key, each in value.items()) + " }"
    return toml_value(value)
