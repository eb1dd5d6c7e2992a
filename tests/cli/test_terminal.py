"""On a real terminal: the live progress bar, and the interactive shell."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from tests.cli.terminal import PROMPT, Terminal
from tests.cli.web import running
from tests.ingest.offers import TrialOffer, study_files, tar_bytes, written

pytestmark = pytest.mark.slow

Start = Callable[..., Terminal]
ENDLESS = ("SELECT count(*) FROM range(1000000) a, range(10000000) b;", "FROM range(1000000) a, range(99999) b;")


@pytest.fixture
def start(lake: Lake, tmp_path: Path) -> Iterator[Start]:
    """Yield a function that starts commands on pseudo-terminals, on the session's lake; stop them after the test."""
    started: list[Terminal] = []

    def run(*arguments: object, columns: int = 120) -> Terminal:
        started.append(Terminal([str(argument) for argument in arguments], lake.folder, tmp_path, columns))
        return started[-1]

    yield run
    for terminal in started:
        terminal.process.kill()
        terminal.process.wait()


def test_the_shell_answers_completes_and_survives_errors(start: Start, tmp_path: Path) -> None:
    shell = start("sql")
    shell.wait_for(PROMPT)
    shell.type("SELECT 40 + 2\r")
    shell.wait_for("...")
    shell.type("AS answer;\r")
    shell.wait_for("42")
    shell.wait_for(PROMPT)
    shell.type("SELECT nothing;\r")
    shell.wait_for("losslake: Binder Error")
    shell.wait_for(PROMPT)
    shell.type(".tables\r")
    shell.wait_for("steps_to_target")
    shell.wait_for(PROMPT)
    shell.type("SELECT count(*) FROM steps_to_res\t")
    shell.wait_for("ult")
    shell.type(";\r")
    shell.wait_for("(1 row)")
    shell.wait_for(PROMPT)
    shell.type("\x03")
    shell.type("\x04")
    assert shell.ends() == 0
    assert "AS answer" in (tmp_path / "losslake/sql_history").read_text()


def test_ingest_draws_a_bar(start: Start, tmp_path: Path) -> None:
    rows = [f"{step},0.5" for step in range(2000)]
    files = {
        p: d for b in range(6) for p, d in study_files({t: TrialOffer(rows=rows) for t in range(1, 30)}, 2**b).items()
    }
    offer = written(tmp_path / "offer.tar.bz2", tar_bytes(files, "w:bz2"))
    terminal = start("ingest", offer, "--lake", tmp_path / "lake")
    terminal.wait_for("rows/s")
    terminal.wait_for("published release 1")
    assert terminal.ends() == 0


def test_ctrl_c_stops_a_running_query_and_the_shell_continues(start: Start) -> None:
    shell = start("sql")
    shell.wait_for(PROMPT)
    for query in ENDLESS:
        shell.type(query + "\r")
        shell.wait_for("losslake: stopped", typing="\x03")
        # The last Ctrl-C may come after the end of its query, and then empties the line.
        shell.wait_for("42\r\n", typing="SELECT 40 + 2 AS answer;\r")
    shell.type(".quit\r")
    assert shell.ends() == 0


@pytest.mark.parametrize("keys", ["\x03", "\x03\x03\x03"], ids=["once", "three times"])
def test_ctrl_c_right_after_a_statement_stops_it(start: Start, keys: str) -> None:
    shell = start("sql")
    for query in ENDLESS:
        shell.wait_for(PROMPT)
        shell.type(query + "\r" + keys)
        shell.wait_for("losslake: stopped")
    shell.wait_for("42\r\n", typing="SELECT 40 + 2 AS answer;\r")
    shell.type(".quit\r")
    assert shell.ends() == 0


def test_a_semicolon_within_a_string_does_not_end_the_statement(start: Start) -> None:
    shell = start("sql")
    shell.wait_for(PROMPT)
    shell.type("SELECT 'a;\r")
    shell.wait_for("...")
    shell.type("b' AS both;\r")
    shell.wait_for("a;\\x0ab")
    shell.wait_for(PROMPT)
    shell.type("\x04")
    assert shell.ends() == 0


def test_dot_commands_complete_and_write_results_to_a_file(start: Start, tmp_path: Path) -> None:
    shell = start("sql")
    shell.wait_for(PROMPT)
    shell.type(".schema stu\t")
    shell.wait_for("dies")
    shell.type("\r")
    shell.wait_for("batch_unit")
    shell.wait_for(PROMPT)
    for line in (".nonsense", ".schema nowhere", ".format xml", ".format parquet"):
        shell.type(line + "\r")
        shell.wait_for("losslake: ")
        shell.wait_for(PROMPT)
    for line in (".format csv", f".output {tmp_path}/r.csv", "SELECT 5 AS five;", ".output", "SELECT 6 AS six;"):
        shell.type(line + "\r")
        shell.wait_for(PROMPT)
    shell.type("\x04")
    assert shell.ends() == 0
    assert (tmp_path / "r.csv").read_text() == "five\n5\n"


def test_ctrl_c_stops_an_ingest_in_one_line(start: Start, tmp_path: Path) -> None:
    rows = [f"{step},0.5" for step in range(3000)]
    offers = {t: TrialOffer(rows=rows) for t in range(1, 40)}
    data = tar_bytes({path: text for b in range(8) for path, text in study_files(offers, 2**b).items()})
    with running() as web:
        web.serve_stalling("/offer.tar", data)  # so the ingest isn't over when Ctrl-C comes
        terminal = start("ingest", "--url", f"{web.url}/offer.tar", "--lake", tmp_path / "lake")
        terminal.wait_for("rows/s")
        terminal.type("\x03")
        assert terminal.ends() == 130
    assert "losslake: stopped" in terminal.seen
    assert "Traceback" not in terminal.seen
    assert Lake.open(tmp_path / "lake").releases() == []


@pytest.mark.parametrize("columns", [60, 90, 200])
def test_every_column_is_shown_whole_at_any_width(start: Start, columns: int) -> None:
    arguments = ("root/mnist/cnn/sgd", "--metric", "val/classification_error", "--target", 0.3)
    terminal = start("steps", *arguments, columns=columns)
    assert terminal.ends() == 0
    for word in ("batch_", "previous_", "scaling_", "best_", "reached"):
        assert word in terminal.seen
    assert "…" not in terminal.seen


@pytest.mark.parametrize("format_", ["table", "csv", "json"])
def test_control_characters_in_data_reach_no_terminal(start: Start, format_: str) -> None:
    query = "SELECT chr(27) || ']0;owned' || chr(7) || chr(155) AS a, 1 AS \"\x1b[31mname\""
    terminal = start("sql", "-c", query, "--format", format_)
    assert terminal.ends() == 0
    assert "owned" in terminal.seen
    assert not [bad for bad in ("\x1b]", "\x07", "\x9b", "\x1b[31m") if bad in terminal.seen]


def test_parquet_to_a_terminal_is_refused_and_errors_are_red(start: Start) -> None:
    terminal = start("sql", "-c", "SELECT 1", "--format", "parquet")
    assert terminal.ends() == 1
    assert "\x1b[31mlosslake: Parquet can't be shown on a terminal" in terminal.seen


def test_verify_draws_a_bar_of_files(start: Start) -> None:
    terminal = start("verify")
    assert terminal.ends() == 0
    assert " files" in terminal.seen
    assert "is intact" in terminal.seen


def test_an_analysis_fits_the_terminal(start: Start) -> None:
    arguments = ("--workload", "root/mnist/cnn/sgd", "--metric", "val/classification_error", "--target", "0.3")
    terminal = start("analyze", "critical-batch-size", *arguments, columns=80)
    assert terminal.ends() == 0
    lines = terminal.seen.splitlines()
    assert max(map(len, lines)) <= 80
    assert {"estimates:", "mccandlish2018"} <= {line.split(" ")[0] for line in lines}
