"""The SQL shell, with history, completion and multi-line statements."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import cast

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.input import Input
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.keys import Keys
from prompt_toolkit.lexers import PygmentsLexer
from pygments.lexers.sql import SqlLexer

from losslake.index.view_texts import MACROS, VIEWS
from losslake_cli.console import FORMATS, Format, echo, echo_all, print_error, print_failure
from losslake_cli.sql.query_output import Output, run_script
from losslake_cli.sql.session import Session, ctrl_c_noted
from losslake_schema.errors import LossLakeError

HELP = """\
Statements end with ';' and may span lines. Tab completes, the up arrow recalls, Ctrl-C stops a query, Ctrl-D exits.
.tables          list the tables and macros
.schema NAME     list the columns of a table
.format FORMAT   set the format: table, csv, json or parquet
.output FILE     write the next result to FILE in the current format; without FILE: print results again
.help            show this help
.quit            exit"""
DOT_COMMANDS = (".tables", ".schema", ".format", ".output", ".help", ".quit")
KEYWORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "JOIN", "USING", "ON", "AS", "AND", "OR", "NOT", "NULL",
    "WITH", "HAVING", "DISTINCT", "COUNT", "MIN", "MAX", "AVG", "SUM", "CASE", "WHEN", "THEN", "ELSE", "END",
    "DESCRIBE", "SUMMARIZE", "QUALIFY", "OVER", "PARTITION BY", "BETWEEN", "IN", "LIKE", "DESC",
)  # fmt: skip
_LAST_WORD = re.compile(r"(?:'[^']*|[.\w]+)$")


def run_shell(session: Session, output: Output) -> None:
    """Read statements from the terminal until Ctrl-D or .quit."""
    echo(f"{session.title}; .help for help")
    prompt: PromptSession[str] = PromptSession(
        "losslake> ",
        multiline=Condition(lambda: not session.is_complete(prompt.default_buffer.text)),
        prompt_continuation="      ... ",
        history=_history(),
        completer=_Words([*VIEWS, *MACROS, *session.completions()]),
        lexer=PygmentsLexer(SqlLexer),
        complete_while_typing=False,
    )
    with ctrl_c_noted() as pressed:  # a Ctrl-C too many, after its query has ended, must not end the shell
        while (text := _read(prompt, pressed)) not in ("", ".quit", ".exit"):
            try:
                with ctrl_c_noted(is_first_raised=True):
                    if pressed or _was_ctrl_c_typed(prompt.input):
                        raise KeyboardInterrupt
                    run = _dot_command if text.startswith(".") else run_script
                    run(session, text, output)
            except LossLakeError as error:
                print_failure(error)
            except KeyboardInterrupt:
                print_error("stopped")


def _read(prompt: PromptSession[str], pressed: list[int]) -> str:
    """Return the next statement or dot command, none after Ctrl-D. pressed: is emptied when the prompt appears."""
    while True:
        try:
            if text := prompt.prompt(pre_run=pressed.clear).strip():
                return text
        except KeyboardInterrupt:
            continue
        except EOFError:
            return ""


def _was_ctrl_c_typed(source: Input) -> bool:
    """Return True if Ctrl-C followed a statement while the terminal still sent it as a key; drop the keys up to it."""
    keys = [*get_typeahead(source), *source.read_keys()]
    rest = next((at for at in range(len(keys), 0, -1) if keys[at - 1].key in (Keys.ControlC, Keys.SIGINT)), 0)
    store_typeahead(source, keys[rest:])
    return rest > 0


def _dot_command(session: Session, text: str, output: Output) -> None:
    command, _, argument = text.rstrip(";").partition(" ")
    argument = argument.strip()
    if command == ".help":
        echo_all(HELP.splitlines())
    elif command == ".tables":
        echo("  ".join((*VIEWS, *(f"{macro}(metric, target)" for macro in MACROS))))
    elif command == ".schema" and argument in VIEWS:
        for name, kind in session.columns(argument):
            echo(f"  {name}  {kind}")
    elif command == ".schema":
        raise LossLakeError(f".schema needs one of: {', '.join(VIEWS)}")
    elif command == ".format" and argument in FORMATS:
        output.redirect(cast(Format, argument), output.path)
    elif command == ".format":
        raise LossLakeError(f".format needs one of: {', '.join(FORMATS)}")
    elif command == ".output":
        output.redirect(output.format, Path(argument).expanduser() if argument else None)
    else:
        raise LossLakeError(f"unknown command {command}: .help lists the commands")


def _history() -> FileHistory | InMemoryHistory:
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "losslake"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "sql_history").touch(0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(folder / "sql_history"))


class _Words(Completer):
    """Completion of the dot command, word or quoted metric before the cursor."""

    def __init__(self, names: Iterable[str]) -> None:
        self._words = list(dict.fromkeys([*names, *KEYWORDS]))

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Yield the completions."""
        before = document.text_before_cursor.lstrip()
        words = _dot_completions(before) if before.startswith(".") else self._words
        typed = _LAST_WORD.search(before)
        for word in words if typed else ():
            if typed and word.lower().startswith(typed[0].lower()):
                yield Completion(word, start_position=-len(typed[0]))


def _dot_completions(before: str) -> Sequence[str]:
    """Return the words that may come next in a dot command."""
    arguments = {".schema": VIEWS, ".format": FORMATS}
    command, space, _ = before.partition(" ")
    return arguments.get(command, ()) if space else DOT_COMMANDS
