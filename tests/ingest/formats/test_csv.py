"""A wide CSV becomes runs bit for bit, whoever wrote it and however it is laid out."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.run_log import NOT_ENDED, RunLog, TextCell
from losslake_ingest.formats.csv_and_jsonl import CSV
from losslake_ingest.formats.format import GLIMPSE, Glimpse
from losslake_ingest.mapping.lookup import LookupTable
from losslake_ingest.mapping.mapping import Files, LogMapping, RunTemplates
from losslake_ingest.readers.tables.csv_table import LONE_RETURN, read_csv
from losslake_schema.registry import metrics
from tests.ingest.formats.reading import read, runs
from tests.ingest.formats.table_reading import columns, same

BY_RUN = LogMapping(run=RunTemplates(column="run"))
NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity|nan)", re.ASCII | re.IGNORECASE)


def one_run(folder: Path, text: str | bytes) -> RunLog:
    (run,) = runs(CSV, folder, {"log.csv": text if isinstance(text, bytes) else text.encode()})
    return run


# What the libraries write. They are not dependencies of the tests, so their writers' few lines are repeated here.


def keras_csv_logger(logs: Sequence[dict[str, float]]) -> str:
    """As keras.callbacks.CSVLogger writes it: the csv module's dialect, keys sorted, NA for what an epoch lacks."""

    class Dialect(csv.excel):
        delimiter = ","

    buffer = io.StringIO()
    keys = sorted(logs[0])
    writer = csv.DictWriter(buffer, ["epoch", *keys], dialect=Dialect)
    writer.writeheader()
    for epoch, log in enumerate(logs):
        writer.writerow({"epoch": epoch} | {key: log.get(key, "NA") for key in keys})
    return buffer.getvalue()


def lightning_metrics(rows: Sequence[dict[str, float]]) -> str:
    """As lightning.fabric.loggers.csv_logs writes metrics.csv: one DictWriter over all keys, restval empty."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, sorted({key for row in rows for key in row}))
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def ultralytics_results(names: Sequence[str], rows: Sequence[Sequence[float]]) -> str:
    """As BaseTrainer.save_metrics of Ultralytics 8.0 writes results.csv: names and %.5g values padded to 23."""
    header = ("%23s," * len(names) % tuple(names)).rstrip(",") + "\n"
    return header + "".join(("%23.5g," * len(names) % tuple(row)).rstrip(",") + "\n" for row in rows)


def test_keras_csv_logger(tmp_path: Path) -> None:
    logs = [{"accuracy": 0.5, "loss": 1.25, "val_loss": 1.5}, {"accuracy": 0.75, "loss": 0.1}]
    text = keras_csv_logger(logs)
    assert "\r\n" in text
    run = one_run(tmp_path, text)
    assert columns(run) == {"epoch": [0, 1], "accuracy": [0.5, 0.75], "loss": [1.25, 0.1], "val_loss": [1.5, None]}
    assert run.run == "log.csv"
    assert run.files == {"log.csv": hashlib.sha256(text.encode()).hexdigest()}
    assert not run.remarks


def test_lightning_writes_train_and_validation_in_rows_of_their_own(tmp_path: Path) -> None:
    rows = [
        {"epoch": 0, "step": 9, "train_loss": 2.5},
        {"epoch": 0, "step": 9, "val_loss": 2.25},
        {"epoch": 1, "step": 19, "train_loss": math.nan},
    ]
    (run,) = runs(CSV, tmp_path, {"lightning_logs/version_0/metrics.csv": lightning_metrics(rows).encode()})
    found = columns(run)
    assert run.run == "lightning_logs/version_0/metrics.csv"
    assert found["step"] == [9, 9, 19]
    assert found["val_loss"] == [None, 2.25, None]
    assert found["train_loss"][:2] == [2.5, None]
    assert math.isnan(found["train_loss"][2] or 0)


def test_ultralytics_pads_its_names_and_values_with_spaces(tmp_path: Path) -> None:
    names = ["epoch", "train/box_loss", "metrics/mAP50-95(B)", "lr/pg0"]
    run = one_run(tmp_path, ultralytics_results(names, [[0, 1.23456789, math.nan, 1e-5], [1, math.inf, 0.25, 5e-324]]))
    assert list(columns(run)) == names
    assert columns(run)["train/box_loss"] == [1.2346, math.inf]
    assert columns(run)["lr/pg0"] == [1e-5, 5e-324]


def test_padded_empty_cells_are_empty(tmp_path: Path) -> None:
    wide = " " * 200
    run = one_run(tmp_path, f"a,b,c\n1,   , NA \n2,\t3,{wide}\n3,{wide},4\n")
    assert columns(run) == {"a": [1, 2, 3], "b": [None, 3, None], "c": [None, None, 4]}


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("1e400", math.inf),
        ("-1e400", -math.inf),
        ("5e-324", 5e-324),
        ("2e-324", 0.0),
        ("0.1000000000000000055511151231257827", 0.1),
        ("12345678901234567", 12345678901234568.0),
        ("1.7976931348623157e308", 1.7976931348623157e308),
        ("9007199254740993", 9007199254740992.0),
        ("-0", -0.0),
        ("nan", math.nan),
        ("NaN", math.nan),
        ("inf", math.inf),
        ("-inf", -math.inf),
        ("Infinity", math.inf),
        (" 1.5 ", 1.5),
        ('"1.5"', 1.5),
        (".5", 0.5),
        ("+5.", 5.0),
        ("", None),
        ("NA", None),
        ("None", None),
        ("null", None),
        ("N/A", None),
        ("n/a", None),
        ("-", None),
        (" - ", None),
    ],
)
def test_a_cell_is_the_float64_that_its_text_says(tmp_path: Path, cell: str, value: float | None) -> None:
    run = one_run(tmp_path, f"step,loss\n1,{cell}\n2,7\n")
    assert same(columns(run)["loss"][0], value)


@pytest.mark.parametrize(
    "cell", ["1_000", "0x10", "1,5", "true", "1e", "4.17 k", "٣", "1\N{NO-BREAK SPACE}", "--", "--1"]
)
def test_text_among_numbers_is_missing_and_keeps_its_line(tmp_path: Path, cell: str) -> None:
    run = one_run(tmp_path, f'step,odd\n1,2\n2,"{cell}"\n')
    assert columns(run) == {"step": [1, 2], "odd": [2, None]}
    assert run.rows[0].texts == {"odd": TextCell(cell.strip(), 3)}
    assert run.remarks == {"text in a column of numbers left out: 'odd'": 1}


any_cell = st.one_of(
    st.floats().map(repr),
    st.floats(width=32).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=17).map(str),
    st.sampled_from(["", "NA", "nan", "inf", " 1.5 ", "  ", "1e400", "1e-400"]),
)
any_text = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=6)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    names = draw(st.lists(st.text(st.sampled_from("abcdef/_. "), min_size=1).map(str.strip), max_size=5, unique=True))
    names = ["step", *[name for name in names if name and name != "step" and name != "inf"]]
    kinds = [draw(st.sampled_from([any_cell, any_cell, st.one_of(any_cell, any_text)])) for _ in names]
    rows = draw(st.lists(st.tuples(*kinds).map(list), min_size=1, max_size=8))
    return names, [[str(at), *row[1:]] for at, row in enumerate(rows)]


def oracle(text: str, delimiter: str) -> dict[str, list[float | None]]:
    """The columns of numbers, read with the csv module and float."""
    header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    found = {}
    for at, name in enumerate(header):
        own = [row[at].strip(" \t") for row in rows if row]
        found[name.strip()] = [float(cell) if NUMBER.fullmatch(cell) else None for cell in own]
    return {name: values for name, values in found.items() if any(value is not None for value in values)}


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables(), st.sampled_from(",;\t"), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans())
def test_every_table_equals_the_csv_module_and_float(
    table: tuple[list[str], list[list[str]]], delimiter: str, end: str, with_mark: bool, quote_all: bool
) -> None:
    names, rows = table
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator=end, quoting=1 if quote_all else 0)
    writer.writerows([names, *rows])
    found = read_csv(b"\xef\xbb\xbf" * with_mark + buffer.getvalue().encode())
    expected = oracle(buffer.getvalue(), delimiter if len(names) > 1 else ",")
    full = {
        name: [
            None if column.missing is not None and column.missing[at] else float(column.values[at])
            for at in range(found.n_rows)
        ]
        for name, column in found.numbers.items()
        if column.missing is None or not column.missing.all()
    }
    assert list(full) == list(expected)
    for name, values in expected.items():
        assert len(full[name]) == len(values)
        assert all(map(same, full[name], values)), name


def test_many_blocks_are_read_like_one(tmp_path: Path) -> None:
    values = np.random.default_rng(1).random(150_000)
    text = "step,loss,note\n" + "".join(f"{at},{value!r},\n" for at, value in enumerate(values.tolist()))
    run = one_run(tmp_path, text + "150000,0.5,late\n")
    (rows,) = run.rows
    assert rows.columns["loss"][:-1].tobytes() == values.tobytes()
    assert run.fields == {"note": "late"}


def test_constant_columns_become_fields(tmp_path: Path) -> None:
    run = one_run(tmp_path, "step,lr,batch,opt,seed,loss\n1,0.5,128,adam,,2\n2,0.5,128.0, adam ,7,1\n")
    assert run.fields == {"lr": 0.5, "batch": 128, "opt": "adam", "seed": 7}
    assert isinstance(run.fields["batch"], int)
    assert columns(run)["batch"] == [128, 128]


def test_a_column_of_few_words_is_a_field_of_its_rows(tmp_path: Path) -> None:
    text = "step,split,phase,loss\n1,val,a,2\n1,test,a,4\n2,val,b,1\n2,test,a,3\n3,val,,5\n"
    run = one_run(tmp_path, text)
    found = [(dict(rows.fields), rows.columns["step"].tolist(), rows.columns["loss"].tolist()) for rows in run.rows]
    assert found == [
        ({"split": "val", "phase": "a"}, [1], [2]),
        ({"split": "test", "phase": "a"}, [1, 2], [4, 3]),
        ({"split": "val", "phase": "b"}, [2], [1]),
        ({"split": "val"}, [3], [5]),
    ]
    assert (run.fields, run.remarks) == ({}, {})


def test_a_column_of_many_words_is_left_out_and_named(tmp_path: Path) -> None:
    run = one_run(tmp_path, "step,when,loss\n" + "".join(f"{step},day{step},2\n" for step in range(30)))
    (rows,) = run.rows
    assert (list(rows.columns), rows.fields) == (["step", "loss"], {})
    assert run.remarks == {"a column of changing text left out: 'when'": 1}


def test_run_column_separates_runs_in_order_of_appearance(tmp_path: Path) -> None:
    text = "run,step,opt,val\nb,1,adam,5\na,1,sgd,3\nb,2,adam,4\na,2,sgd,\nc,1,lamb,\n"
    found = runs(CSV, tmp_path, {"x/log.csv": text.encode()}, BY_RUN)
    assert [run.run for run in found] == ["x/log.csv#b", "x/log.csv#a", "x/log.csv#c"]
    assert [run.fields for run in found] == [
        {"run": "b", "opt": "adam"},
        {"run": "a", "val": 3, "opt": "sgd"},
        {"run": "c", "step": 1, "opt": "lamb"},
    ]
    assert columns(found[0]) == {"step": [1, 2], "val": [5, 4]}
    assert columns(found[1]) == {"step": [1, 2], "val": [3, None]}
    assert columns(found[2]) == {"step": [1]}


def test_a_run_column_of_numbers_names_runs_as_they_are_written(tmp_path: Path) -> None:
    found = runs(CSV, tmp_path, {"log.csv": b"run,step\n0.10,1\n7,1\n0.10,2\n12345678901234567890,3\n"}, BY_RUN)
    assert [run.run for run in found] == ["log.csv#0.10", "log.csv#7", "log.csv#12345678901234567890"]
    assert [run.fields["run"] for run in found] == [0.1, 7, 12345678901234567890.0]


def test_without_its_run_column_nothing_of_a_table_is_stored(tmp_path: Path) -> None:
    (item,) = read(CSV, tmp_path, {"log.csv": b"step,loss\n1,2\n"}, BY_RUN)
    assert isinstance(item, Quarantined)
    assert item.rule == "missing_fact"
    assert item.message == "there is no column 'run', the mapping's run column; the columns are 'step', 'loss'"


def test_rows_without_a_run_are_quarantined_and_the_rest_is_stored(tmp_path: Path) -> None:
    refused, run = read(CSV, tmp_path, {"log.csv": b"run,step\n,1\na,2\n ,3\na,4\n"}, BY_RUN)
    assert isinstance(refused, Quarantined)
    assert refused.rule == "missing_fact"
    assert isinstance(run, RunLog)
    assert columns(run) == {"step": [2, 4]}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["", "1", "2", "nan"]), st.sampled_from("xy"))))
def test_runs_of_a_table_equal_a_plain_loop_over_its_rows(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]]
) -> None:
    text = "run,at,v,w\n" + "".join(f"{run},{at},{v},{w}\n" for at, (run, v, w) in enumerate(rows))
    found = read(CSV, tmp_path_factory.mktemp("runs"), {"log.csv": text.encode()}, BY_RUN)
    expected: dict[str, list[tuple[int, str, str]]] = {}
    for at, (run, v, w) in enumerate(rows):
        expected.setdefault(run, []).append((at, v, w))
    if not rows:
        return
    assert [item.run for item in found if isinstance(item, RunLog)] == [f"log.csv#{run}" for run in expected]
    for item, own in zip(found, expected.values(), strict=True):
        assert isinstance(item, RunLog)
        words = {w for _, _, w in own}
        # Rows with the same word lie together; of one word, it is a field of the run.
        by_word = sorted(own, key=lambda row: [w for _, _, w in own].index(row[2])) if len(words) > 1 else own
        assert columns(item)["at"] == [at for at, _, _ in by_word]
        assert [rows.fields for rows in item.rows] == (
            [{"w": w} for w in dict.fromkeys(w for _, _, w in by_word)] if len(words) > 1 else [{}]
        )
        values = [None if v == "" else float(v) for _, v, _ in by_word]
        if any(v is not None for v in values):
            assert all(map(same, columns(item)["v"], values))
        distinct = {v for _, v, _ in own if v}
        assert item.fields.get("v") == (float(distinct.pop()) if len(distinct) == 1 and "nan" not in distinct else None)
        assert item.fields.get("w") == (words.pop() if len(words) == 1 else None)


def test_a_header_written_again_by_a_restart_is_skipped(tmp_path: Path) -> None:
    run = one_run(tmp_path, "epoch,loss\r\n0,3\r\nepoch,loss\r\nepoch,loss\r\n0,2\r\n1,1\r\nepoch,loss")
    assert columns(run) == {"epoch": [0, 0, 1], "loss": [3, 2, 1]}
    assert run.remarks == {"header line repeated": 3, NOT_ENDED: 1}


def test_a_lone_carriage_return_is_remarked_unless_all_lines_end_in_one(tmp_path: Path) -> None:
    run = one_run(tmp_path / "flipped", "step,loss\n1,2\n\r2,1\n")
    assert run.remarks == {LONE_RETURN: 1}
    assert not one_run(tmp_path / "all", "step,loss\r1,2\r2,1\r").remarks
    assert not one_run(tmp_path / "windows", "step,loss\r\n1,2\r\n").remarks


def test_quoted_cells_hold_delimiters_quotes_and_newlines(tmp_path: Path) -> None:
    run = one_run(tmp_path, 'step,"the ""note""",loss\n1,"a, b\nc ""d""",2\n2,"a, b\nc ""d""",1\n')
    assert run.fields == {'the "note"': 'a, b\nc "d"'}
    assert columns(run) == {"step": [1, 2], "loss": [2, 1]}


def test_comments_and_empty_lines_above_the_header_are_skipped(tmp_path: Path) -> None:
    run = one_run(tmp_path, "# it's \"done\n\n#by,me\nstep,loss\n1,2\n\n2,1\n")
    assert columns(run) == {"step": [1, 2], "loss": [2, 1]}


def test_an_index_without_a_name_is_left_out(tmp_path: Path) -> None:
    run = one_run(tmp_path, ",step,loss\n0,10,2\n1,20,1\n")
    assert columns(run) == {"step": [10, 20], "loss": [2, 1]}
    assert not run.remarks


def test_bytes_that_are_no_utf8_are_replaced_in_text(tmp_path: Path) -> None:
    run = one_run(tmp_path, b"step,gr\xf6\xdfe,n\n1,na\xefve,2\n2,na\xefve,3\n")
    assert run.fields == {"gr\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}e": "na\N{REPLACEMENT CHARACTER}ve"}


@pytest.mark.slow
def test_a_hundred_thousand_runs_in_one_table(tmp_path: Path) -> None:
    text = "run,step,loss,kind\n" + "".join(f"r{at},1,{at},k{at}\n" for at in range(100_000))
    found = runs(CSV, tmp_path, {"log.csv": text.encode()}, BY_RUN)
    assert len(found) == 100_000
    assert found[77_777].fields == {"run": "r77777", "step": 1, "loss": 77777, "kind": "k77777"}


def test_side_files_and_lookup_tables_are_no_logs(tmp_path: Path) -> None:
    mapping = LogMapping(files=Files(side=["side.csv"]), lookup=[LookupTable("tables/sizes.csv", ["a"], {})])
    text = b"step,loss\n1,2\n"
    files = dict.fromkeys(["run/side.csv", "tables/sizes.csv", "run/LOG.CSV", "run/log.tsv", "run/log.txt"], text)
    assert [run.run for run in runs(CSV, tmp_path, files, mapping)] == ["run/LOG.CSV", "run/log.tsv"]


@pytest.mark.parametrize(
    ("name", "start", "sure"),
    [
        ("metrics.csv", b"epoch,step,train_loss\n0,1,2.5\n", 0.5),
        ("results.csv", b"      epoch,  train/box_loss\n   0,  1.5\n", 0.5),
        ("training.csv", b"epoch,accuracy,loss\r\n0,0.5,1\r\n", 0.5),
        ("any.csv", b"step,wer\n1,0.5\n", 0.3),
        ("any.tsv", b"step\twer\n1\t0.5\n", 0.3),
        ("any.csv", b"step,wer\n", 0.3),
        ("any.csv", b"step,wer,x" + b"y" * GLIMPSE, 0.3),
        ("any.csv", b"name,url\na,b\n", 0.0),
        ("any.csv", b"1,2\n3,4\n", 0.0),
        ("any.csv", b"one column\n3\n", 0.0),
        ("any.csv", b"", 0.0),
        ("any.txt", b"step,wer\n1,0.5\n", 0.0),
    ],
)
def test_detection(name: str, start: bytes, sure: float) -> None:
    assert CSV.detect(Glimpse(f"some/{name}", start[:GLIMPSE])) == sure


def test_defaults_name_registered_metrics_only() -> None:
    defaults = tomllib.loads(CSV.defaults)
    named = {name.format(**defaults["fields"]) for name in defaults["metrics"].values() if name}
    assert named <= set(metrics())
    assert [axis["column"] for axis in defaults["axis"]] == ["step", "global_step", "iteration", "iter", "epoch"]


def test_fields_of_runs_are_right_in_tables_wide_enough_for_several_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    width, n_runs = 200, 120
    monkeypatch.setattr("losslake_ingest.readers.tables.runs._LARGEST_BATCH", width * n_runs // 3)
    text = "run," + ",".join(f"c{at}" for at in range(width)) + "\n"
    text += "".join(f"r{run},{run}" + ",0" * (width - 2) + f",{row}\n" for run in range(n_runs) for row in (run, -1))
    found = runs(CSV, tmp_path, {"log.csv": text.encode()}, BY_RUN)
    assert [run.fields["c0"] for run in found] == list(range(n_runs))
    assert [columns(run)["c199"] for run in found] == [[run, -1] for run in range(n_runs)]
    assert not any("c199" in run.fields for run in found)
