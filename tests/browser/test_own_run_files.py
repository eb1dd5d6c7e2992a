"""The browser reads event files, recorded runs, trainer states and tables as the ingest does, and refuses junk."""

from __future__ import annotations

import csv
import json
import math
import random
import struct
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page

import losslake.record
from losslake_ingest.formats import hf_trainer, tensorboard
from losslake_ingest.formats import record as recorded
from losslake_ingest.readers.tables.csv_table import read_csv
from losslake_schema.package_files import read_text
from tests.browser.own_run_modules import PAGE, encoded, error_in_page, in_modules, read_in_page
from tests.browser.visit import Visit
from tests.conformance.corpora import SAMPLE_AND_WHOLE, corpus
from tests.ingest.formats.reading import cells, runs
from tests.ingest.formats.tensorboard_files import (
    FILE,
    SMALL,
    event,
    event_file,
    framed,
    hyperparameters,
    session,
    simple,
    tensor,
)
from tests.ingest.formats.test_record import files as recorded_files
from tests.ingest.formats.test_record import measured, written
from tests.ingest.readers.event_files.test_scalars import NUMBERS
from tests.losslake.record.runs import FACTS

pytestmark = pytest.mark.slow

Values = dict[str, dict[int, float]]


@pytest.fixture
def page(visit: Visit) -> Page:
    return visit.open(PAGE)


def shown(values: Values, *without: str) -> list[str]:
    """Return values in a form in which NaN equals NaN and -0.0 isn't 0.0."""
    return [f"{name} {step} {values[name][step]!r}" for name in sorted(values) if name not in without
            for step in sorted(values[name])]  # fmt: skip


def by_ingest(folder: Path, files: dict[str, bytes]) -> Values:
    """Return the values of event files by tag and step, the last one written for a step."""
    (run,) = runs(tensorboard.FORMAT, folder, files)
    found: Values = {}
    for rows in run.rows:
        step, _, tag = rows.columns
        for at, value in zip(cells(rows, step), cells(rows, tag), strict=True):
            assert at is not None
            assert value is not None
            found.setdefault(tag, {})[int(at)] = value
    return found


def same_event_files(page: Page, folder: Path, files: dict[str, bytes]) -> int:
    """Return the number of values in which the page and the ingest agree."""
    page_values, expected = shown(read_in_page(page, files), "wall_time"), shown(by_ingest(folder, files))
    assert page_values == expected
    return len(expected)


def test_scalars_of_event_files_are_those_of_the_ingest(page: Page, tmp_path: Path) -> None:
    dice = random.Random(1)
    values = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-40, 3.4e38, 0.1]
    plain = [event(10.0 + step, step, simple("eval/loss", dice.choice(values)), simple("lr", dice.random()))
             for step in (0, 3, 2**31, 2**40)]  # fmt: skip
    forms = [event(5.0, step, *(tensor(form.replace(" ", "_"), NUMBERS[form]) for form in NUMBERS)) for step in (1, 2)]
    bare = [event(5.0, 1, tensor("bare", NUMBERS["float list"], plugin=None)),
            event(6.0, 2, tensor("image", NUMBERS["float list"], plugin="images")),
            event(7.0, 3, tensor("image", NUMBERS["float list"], plugin=None)),
            event(8.0, 4, tensor("odd", NUMBERS["float content"], plugin="scalars")),
            event(9.0, 5, session(session_start_info=hyperparameters(lr=0.1)))]  # fmt: skip
    again = [event(20.0 + step, step, simple("eval/loss", dice.random())) for step in (2, 3, 4)]
    axes = [event(1.0, 1, simple("step", 3.0), simple("wall_time", 4.0), simple("tag ü", 0.5))]
    whole = event_file([*plain, *forms, *bare, *again, *axes])
    n = same_event_files(page, tmp_path / "whole", {f"run/{FILE}": whole})
    n += same_event_files(page, tmp_path / "cut", {f"run/{FILE}": whole[:-9]})
    two = {"run/events.out.tfevents.200.b": event_file(again), "run/events.out.tfevents.100.a": event_file(plain)}
    n += same_event_files(page, tmp_path / "two", two)
    assert n > 80


def test_damaged_event_files_are_refused_in_a_line(page: Page) -> None:
    middle = bytearray(SMALL)
    middle[len(SMALL) // 2] ^= 1
    huge = struct.pack("<Q", 2**60)
    cases = {
        bytes(middle): "is damaged at byte",
        b"\x01" * 50: "isn't an event file of TensorBoard",
        framed([b"\xff" * 30]): "isn't an event file of TensorBoard, or is damaged",
        framed([b"\x2a\xff\xff\xff\xff\x7f"]): "isn't an event file of TensorBoard, or is damaged",
        framed([]): "There are no values by step in it.",
        huge + bytes(40): "isn't an event file of TensorBoard",
    }
    for data, said in cases.items():
        message = error_in_page(page, {FILE: data})
        assert said in message
        assert message.startswith(f"{FILE}")
        assert "\n" not in message
    # Without the name of one, it is no table either.
    assert "isn't text in UTF-8" in error_in_page(page, {"mine.csv": b"\x00\x01\xff" * 20})


def test_random_bytes_never_hang_or_fail_otherwise(page: Page) -> None:
    dice = random.Random(2)
    body = """Promise.all(argument.map((files) => readRun(filesOf(files)).then(() => '', (error) => error.message)))"""
    files = []
    for _ in range(300):
        data = bytearray(dice.choice([SMALL, framed([dice.randbytes(dice.randrange(60))])]))
        for _ in range(dice.randrange(3)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        files.append(encoded({FILE: bytes(data)}))
    for message in in_modules(page, body, files):
        assert message == "" or (message.startswith(FILE) and "\n" not in message)


def test_recorded_runs_are_those_of_the_ingest(page: Page, tmp_path: Path) -> None:
    run = losslake.record.start(**FACTS, folder=tmp_path)
    for step in range(1, 30):
        run.log({"val/loss": 1 / step, "val/accuracy": math.nan if step == 7 else step / 30}, step=step)
    run.rewind(20)
    for step in range(20, 25):
        run.log({"val/loss": 2 / step}, step=step)
    run.finish("COMPLETE")
    given = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    (log,) = runs(recorded.FORMAT, tmp_path / "ingested", given)
    assert shown(read_in_page(page, given), "elapsed_s") == shown(measured(log))
    sizes = "readRun(filesOf(argument)).then(({ table }) => batchSizesIn(table))"
    assert in_modules(page, sizes, encoded(given)) == [FACTS["batch_size"]]


def test_attempts_replace_what_they_went_back_to(page: Page, tmp_path: Path) -> None:
    dice = random.Random(3)
    for case in range(20):
        attempts: Any = [
            (dice.randrange(12), [[(dice.randrange(12), {"loss": dice.choice([dice.random(), math.inf])})
                                   for _ in range(dice.randrange(1, 6))] for _ in range(dice.randrange(1, 3))])
            for _ in range(dice.randrange(1, 4))
        ]  # fmt: skip
        given = recorded_files(written(attempts, dice.randrange(40)), None)
        (log,) = runs(recorded.FORMAT, tmp_path / str(case), given)
        expected = shown(measured(log))
        if expected:
            assert shown(read_in_page(page, given), "elapsed_s") == expected


@pytest.mark.parametrize("part", SAMPLE_AND_WHOLE)
def test_trainer_states_are_those_of_the_ingest(page: Page, tmp_path: Path, part: str) -> None:
    paths = sorted(corpus("hf_trainer_state", part).rglob("trainer_state.json"))
    assert paths
    for number, path in enumerate(paths):
        given = {"run/trainer_state.json": path.read_bytes()}
        (log,) = runs(hf_trainer.FORMAT, tmp_path / str(number), given)
        (rows,) = log.rows
        body = "readRun(filesOf(argument)).then(({ table }) => [table.names, table.rows.map(({ cells }) => cells)])"
        names, table = in_modules(page, body, encoded({"trainer_state.json": given["run/trainer_state.json"]}))
        assert set(names) == set(rows.columns)
        for name in names:
            assert [float(row[names.index(name)]) if row[names.index(name)] else None for row in table] == cells(
                rows, name
            )


@pytest.mark.parametrize("part", SAMPLE_AND_WHOLE)
def test_numbers_of_tables_are_those_of_the_ingest(page: Page, part: str) -> None:
    paths = sorted(corpus("w2v2_wandb_csv", part).rglob("*.csv"))
    assert paths
    body = """readRun(filesOf(argument)).then(({ table }) =>
      [table.names, table.rows.map(({ cells }) => cells.map((cell) => numberIn(cell) ?? null))])"""
    n_numbers = 0
    for path in paths:
        names, rows = in_modules(page, body, encoded({path.name: path.read_bytes()}))
        with path.open(newline="") as file:
            assert len(list(csv.reader(file))) - 1 >= len(rows)
        table = read_csv(path.read_bytes())
        assert table.n_rows == len(rows)
        for name, numbers in table.numbers.items():
            if name in table.words:
                continue  # numbers with text among them
            at = names.index(name)
            # The ingest takes a number that no line break follows for one that may be cut.
            n = table.n_rows - (not path.read_bytes().endswith(b"\n"))
            gone = np.zeros(table.n_rows, np.bool_) if numbers.missing is None else numbers.missing
            expected = [None if out else value for value, out in zip(numbers.values.tolist(), gone, strict=True)]
            assert [row[at] for row in rows][:n] == expected[:n], (path.name, name)
            n_numbers += n
    assert n_numbers > 500


def test_words_of_columns_are_those_of_the_ingest(page: Page) -> None:
    names = tomllib.loads(read_text("losslake_ingest.mapping", "names.toml"))
    words = in_modules(page, "WORDS", None)
    of_metrics = tomllib.loads(read_text("losslake.record", "data/words.toml"))
    assert words["splits"] == of_metrics["splits"]
    assert words["quantities"] == of_metrics["quantities"]
    assert words["study"] == names["study"]
    assert words["facts"] == {name: names["facts"][name] for name in words["facts"]}


def test_batch_size_and_times_are_found_in_files(page: Page) -> None:
    state = json.dumps(
        {"train_batch_size": 8, "log_history": [{"step": 1, "eval_loss": 2}, {"step": 2, "eval_loss": 1}]}
    )
    for text, sizes, device, seconds in (
        ("step,global_batch_size,val/loss,wall_time\n10,64,1,5\n30,64,2,9\n", [64], None, 0.2),
        ('{"step": 1, "args": {"total_train_batch_size": 32}}', [32], None, None),
        (state, [], "train_batch_size 8", None),
        ("step,batch,elapsed_s\n1,1,0\n2,2,0\n", [], None, None),
        ("step,batch,_runtime\n1,16,0\n2,16,3\n", [16], None, 3),
    ):
        body = """((table) => {
          return [batchSizesIn(table), batchOfDevice(table) ?? null, secondsPerStep(table, 'step') ?? null];
        })(readTable(argument))"""
        assert in_modules(page, body, text) == [sizes, device, seconds], text


def test_tables_written_as_csv_are_read_as_they_were(page: Page) -> None:
    for text in ('"a, ""b""";c\n"x";1\n', "a b\n1 2\n", '{"a": "one\\nline", "b": "#", "c": ""}'):
        body = "(({ names, rows }) => JSON.stringify([names, rows.map(({ cells }) => cells)]))"
        same = f"[{body}(readTable(argument)), {body}(readTable(csvOf(readTable(argument))))]"
        one, other = in_modules(page, same, text)
        assert one == other, text
