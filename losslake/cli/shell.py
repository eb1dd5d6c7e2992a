"""The SQL shell: history, completion, statements over several lines; and scripts without it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.lexers import PygmentsLexer
from pygments.lexers.sql import SqlLexer

from losslake.cli.console import Format, complain, say
from losslake.cli.query_output import Output
from losslake.cli.session import Session
from losslake.index.serving import MACROS, VIEWS
from losslake_schema.errors import LossLakeError

HELP = """\
Statements end with ';' and may take several lines. Tab completes, the up arrow goes back, Ctrl-C stops, Ctrl-D leaves.
.tables          the tables and macros
.schema NAME     the columns of a table
.format FORMAT   table, csv, json or parquet
.output FILE     the next result goes to this file, in the format chosen before; without FILE: to the screen again
.help            this
.quit            leave"""
DOT_COMMANDS = (".tables", ".schema", ".format", ".output", ".help", ".quit")
KEYWORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "LIMIT", "JOIN", "USING", "ON", "AS", "AND", "OR", "NOT", "NULL",
    "WITH", "HAVING", "DISTINCT", "COUNT", "MIN", "MAX", "AVG", "SUM", "CASE", "WHEN", "THEN", "ELSE", "END",
    "DESCRIBE", "SUMMARIZE", "QUALIFY", "OVER", "PARTITION BY", "BETWEEN", "IN", "LIKE", "DESC",
)  # fmt: skip
_LAST_WORD = re.compile(r"(?:'[^']*|[.\w]+)$")


def run_script(session: Session, text: str, output: Output) -> None:
    """Run statements one after the other; raises LossLakeError at the first that fails, KeyboardInterrupt on Ctrl-C."""
    for question in session.questions(text):
        session.carry_out(partial(output.write, question), output.stop)


def run_shell(session: Session, output: Output) -> None:
    """Read statements from the terminal until Ctrl-D or .quit."""
    say(f"{session.title}; .help for help")
    prompt: PromptSession[str] = PromptSession(
        "losslake> ",
        multiline=Condition(lambda: not session.is_complete(prompt.default_buffer.text)),
        prompt_continuation="      ... ",
        history=_history(),
        completer=_Words([*VIEWS, *MACROS, *session.words()]),
        lexer=PygmentsLexer(SqlLexer),
        complete_while_typing=False,
    )
    while True:
        try:
            text = prompt.prompt().strip()
            if text in (".quit", ".exit"):
                return
            if text.startswith("."):
                _dot_command(session, output, text)
            elif text:
                _run_typed(session, text, output)
        except LossLakeError as error:
            complain(str(error))
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


def _run_typed(session: Session, text: str, output: Output) -> None:
    try:
        run_script(session, text, output)
    except KeyboardInterrupt:
        raise LossLakeError("stopped") from None


def _dot_command(session: Session, output: Output, text: str) -> None:
    command, _, argument = text.rstrip(";").partition(" ")
    argument = argument.strip()
    if command == ".help":
        for line in HELP.splitlines():
            say(line)
    elif command == ".tables":
        say("  ".join((*VIEWS, *(f"{macro}(metric, target)" for macro in MACROS))))
    elif command == ".schema" and argument in VIEWS:
        for name, kind in session.columns(argument):
            say(f"  {name}  {kind}")
    elif command == ".schema":
        raise LossLakeError(f".schema takes one of: {', '.join(VIEWS)}")
    elif command == ".format" and argument in list(Format):
        output.send(Format(argument), output.path)
    elif command == ".format":
        raise LossLakeError(f".format takes one of: {', '.join(Format)}")
    elif command == ".output":
        output.send(output.format, Path(argument).expanduser() if argument else None)
    else:
        raise LossLakeError(f"there is no command {command}: .help lists them")


def _history() -> FileHistory | InMemoryHistory:
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "losslake"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "sql_history").touch(0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(folder / "sql_history"))


class _Words(Completer):
    """Completes the dot command, or the word or quoted metric, before the cursor."""

    def __init__(self, names: Iterable[str]) -> None:
        self._words = list(dict.fromkeys([*names, *KEYWORDS]))

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        before = document.text_before_cursor.lstrip()
        words = _dot_words(before) if before.startswith(".") else self._words
        typed = _LAST_WORD.search(before)
        for word in words if typed else ():
            if typed and word.lower().startswith(typed[0].lower()):
                yield Completion(word, start_position=-len(typed[0]))


def _dot_words(before: str) -> Sequence[str]:
    """What may come next in a dot command."""
    following = {".schema": VIEWS, ".format": tuple(Format)}
    command, space, _ = before.partition(" ")
    return following.get(command, ()) if space else DOT_COMMANDS
