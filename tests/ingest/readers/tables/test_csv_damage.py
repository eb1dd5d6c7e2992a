"""A damaged or hostile CSV ends in what is whole and in named faults, whatever its bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal
from losslake_ingest.contracts.run_log import CUT_ADVICE, NOT_ENDED, Damage, RunLog
from losslake_ingest.formats.csv_and_jsonl import CSV
from losslake_ingest.formats.format import Glimpse
from losslake_ingest.mapping.mapping import LogMapping, RunTemplates
from losslake_ingest.readers.tables.cells import LARGEST_COLUMNS
from losslake_ingest.readers.tables.csv_layout import LONGEST_LINE
from losslake_ingest.readers.tables.csv_table import CUT_CELL, CUT_KEY, read_csv
from losslake_ingest.readers.tables.table import Table
from tests.ingest.formats.reading import read, runs
from tests.ingest.formats.table_reading import columns
from tests.ingest.offers import tar_bytes

BY_RUN = LogMapping(run=RunTemplates(column="run"))
cell = st.one_of(
    st.floats().map(repr), st.integers().map(str), st.sampled_from(["", "NA", "nan", " 1.5 ", "  ", "1e400"])
)


def one_run(folder: Path, text: str | bytes) -> RunLog:
    (run,) = runs(CSV, folder, {"log.csv": text if isinstance(text, bytes) else text.encode()})
    return run


def quarantined(folder: Path, data: bytes, mapping: LogMapping | None = None) -> Quarantined:
    (item,) = read(CSV, folder, {"log.csv": data}, mapping)
    assert isinstance(item, Quarantined)
    return item


def read_or_fault(data: bytes, run_column: str | None = None) -> Table | Refusal:
    try:
        return read_csv(data, run_column)
    except Refusal as fault:
        return fault


def test_a_last_line_that_is_cut_short_is_left_out(tmp_path: Path) -> None:
    run = one_run(tmp_path, "step,loss,note\n1,2,a\n2,3")
    assert columns(run) == {"step": [1], "loss": [2]}
    assert run.remarks == {"the last line is cut short: left out": 1}


def test_a_number_that_is_cut_short_does_not_spoil_its_column(tmp_path: Path) -> None:
    run = one_run(tmp_path, "step,loss\n1,2\n2,3e-")
    assert columns(run) == {"step": [1, 2], "loss": [2, None]}
    assert run.remarks == {CUT_CELL: 1}


@pytest.mark.parametrize("end", ["30", "3", "", " 3 "])
def test_the_last_cell_of_a_last_line_without_a_line_end_may_be_cut(tmp_path: Path, end: str) -> None:
    run = one_run(tmp_path, f"step,loss\n1,2\n2,{end}")
    assert columns(run) == {"step": [1, 2], "loss": [2, None]}
    ((damage, count),) = run.remarks.items()
    assert isinstance(damage, Damage)
    assert (damage, damage.line, damage.advice, count) == (CUT_CELL, 3, CUT_ADVICE, 1)


@pytest.mark.parametrize(
    ("text", "note"), [('step,loss,note\n1,2,"a"\n2,3,"b, c"', True), ("step,loss,\n1,2,\n2,3,", False)]
)
def test_a_last_cell_that_is_closed_is_whole(tmp_path: Path, text: str, note: bool) -> None:
    run = one_run(tmp_path, text)
    assert columns(run)["loss"] == [2, 3]
    assert NOT_ENDED in run.remarks
    assert not any(isinstance(remark, Damage) for remark in run.remarks)


def test_a_last_line_that_lacks_only_the_newline_of_its_line_end_is_whole(tmp_path: Path) -> None:
    assert columns(one_run(tmp_path, "step,loss\r\n1,2\r\n2,3\r")) == {"step": [1, 2], "loss": [2, 3]}


@pytest.mark.parametrize(
    "text", ["step,loss,split\n1,2,train\n2,3,tra", "loss,step,kind\n2,1,val\n3,2,v", "a,seed\n1,1\n2,1"]
)
def test_a_last_line_whose_last_cell_tells_rows_apart_is_left_out(tmp_path: Path, text: str) -> None:
    run = one_run(tmp_path, text)
    assert [len(rows.columns[next(iter(rows.columns))]) for rows in run.rows] == [1]
    assert run.remarks == {CUT_KEY: 1}


@pytest.mark.parametrize(
    ("rows", "damaged"),
    [
        ("a,1,2\nb,1,2\na,2,30", "a"),
        ("a,1,2\nb,1,2\nb,2,30", "b"),
        ("a,1,2\nb,1,2\na,2", "a"),
        ("a,1,2\nb,1,2\na", "b"),
        ("a,1,2\nb,1,2\nc,2", "b"),
    ],
)
def test_a_cut_end_is_of_the_run_of_the_last_line_only(tmp_path: Path, rows: str, damaged: str) -> None:
    found = runs(CSV, tmp_path, {"log.csv": f"run,step,loss\n{rows}".encode()}, BY_RUN)
    assert [run.fields["run"] for run in found if run.remarks] == [damaged]


def test_a_file_whose_lines_end_in_carriage_returns_or_that_is_utf16_or_states_its_delimiter_is_read(
    tmp_path: Path,
) -> None:
    for name, data in {
        "cr": b"step,loss\r1,2\r2,3\r",
        "utf16": "step;loss\r\n1;2\r\n2;3\r\n".encode("utf-16"),
        "sep": b"\xef\xbb\xbfsep=;\r\nstep;loss\r\n1;2\r\n2;3\r\n",
        "bar": b'"sep=|"\nstep|loss\n1|2\n2|3\n',
        "tab": b"sep=\t\nstep\tloss\n1\t2\n2\t3\n",
        "odd": b"sep=,,\nstep,loss\n1,2\n2,3\n",
    }.items():
        assert CSV.detect(Glimpse("log.csv", data)) == 0.3, name
        assert columns(one_run(tmp_path / name, data)) == {"step": [1, 2], "loss": [2, 3]}, name


def test_lines_are_counted_with_that_of_the_delimiter(tmp_path: Path) -> None:
    item = quarantined(tmp_path, b"sep=;\nstep;loss\n1;2\n2\n3;4\n")
    assert (item.rule, item.line) == ("wrong_cell_count", 4)


def test_a_file_that_begins_with_nul_bytes_is_refused_with_what_to_do(tmp_path: Path) -> None:
    item = quarantined(tmp_path, b"\0" * 40 + b"step,loss\n1,2\n")
    assert (item.rule, item.line) == ("unreadable_log", 1)
    assert "it begins with 40 NUL bytes" in item.message
    assert "tr -d '\\0' < FILE > NEW_FILE" in item.message


def test_cut_quoted_cell_drops_only_its_row(tmp_path: Path) -> None:
    run = one_run(tmp_path, 'step,note,loss\n1,"a\nb",2\n2,"a\nb')
    assert columns(run) == {"step": [1], "loss": [2]}
    assert run.remarks == {"the last line is cut short: left out": 1}


@pytest.mark.parametrize(
    ("data", "rule", "line"),
    [
        (b"", "empty_file", 1),
        (b"\n\n# nothing\n", "empty_file", 1),
        (b"step,loss,step\n1,2,3\n", "bad_header", 1),
        (b"# x\n1,2\n3,4\n", "bad_header", 2),
        ("step\n1,2\n".encode("utf-16"), "wrong_cell_count", 2),
        (b"step," + b"x" * LONGEST_LINE + b"\n1,2\n", "bad_header", 1),
        (",".join(map("c{}".format, range(LARGEST_COLUMNS + 1))).encode() + b"\n", "bad_header", 1),
        (b'step,"loss\n1,2\n', "bad_header", 1),
        (b"step,loss\n", "no_measurements", None),
        (b"name,note\na,b\nc,d\n", "no_measurements", None),
        (b"step,loss\n\n", "no_measurements", None),
        (b"step,loss\n1,2\n2\n3,4\n", "wrong_cell_count", 3),
        (b"# c\nstep,loss\n1,2\n\n2,3,4\n3,4\n", "wrong_cell_count", 5),
        (b'step,loss\n1,"2\n3"\n2,3,4\n', "wrong_cell_count", 4),
        (b"step,loss\n1,2\nstep,loss\nstep,loss\n3\n4", "wrong_cell_count", 5),
        (b'step,loss\n1,2\n2,"3\n3,4\n', "unreadable_csv", 3),
    ],
)
def test_unusable_file_is_quarantined_with_rule_and_line(
    tmp_path: Path, data: bytes, rule: str, line: int | None
) -> None:
    item = quarantined(tmp_path, data)
    assert (item.rule, item.line, item.path) == (rule, line, "log.csv")
    assert "\n" not in str(item)


def test_one_endless_line_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(Refusal) as fault:
        read_csv(b"step,loss\n1,2\n" + b"3,4," * (4 << 20))
    assert (fault.value.rule, fault.value.line) == ("unreadable_csv", 3)


def test_more_cells_than_memory_should_hold_are_refused_before_they_are_parsed() -> None:
    header = ",".join(map("c{}".format, range(1000))).encode()
    with pytest.raises(Refusal, match="split the file") as fault:
        read_csv(header + b"\n" + (b"," * 999 + b"\n") * 70_000)
    assert fault.value.rule == "file_too_large"


def test_a_name_too_long_for_a_run_is_quarantined_alone(tmp_path: Path) -> None:
    refused, run = read(CSV, tmp_path, {"log.csv": b"run,step\n" + b"x" * 300 + b",1\na,2\n"}, BY_RUN)
    assert isinstance(refused, Quarantined)
    assert refused.rule == "bad_name"
    assert isinstance(run, RunLog)


def test_a_file_that_an_archive_holds_twice_is_read_once(tmp_path: Path) -> None:
    once = tar_bytes({"log.csv": b"step,loss\n1,2\n"})
    (tmp_path / "a.tar").write_bytes(once[:1024] + once)
    run, twice = read(CSV, tmp_path / "a.tar", {})
    assert isinstance(run, RunLog)
    assert isinstance(twice, Quarantined)
    assert twice.rule == "duplicate_file"


@pytest.mark.parametrize("text", ['step,loss,note\n1,2.25,a\n2,-1e-3,"x, y"\n3,inf,"p\nq"\n', "a;b\r\n1;2\r\n3;4\r\n"])
def test_wherever_a_file_is_cut_the_rows_before_are_whole(tmp_path: Path, text: str) -> None:
    whole = read_csv(text.encode()).numbers
    for cut in range(len(text)):
        found = read_or_fault(text[:cut].encode())
        if isinstance(found, Refusal):
            assert found.rule in ("empty_file", "bad_header", "no_measurements"), text[:cut]
            continue
        sure = found.n_rows - 1
        for name, column in found.numbers.items():
            if name in whole:
                assert column.values[:sure].tolist() == whole[name].values[:sure].tolist()


noise = st.lists(
    st.one_of(st.binary(max_size=4), cell.map(str.encode), st.sampled_from([b",", b"\n", b"\r", b'"', b"#", b"step"])),
    max_size=40,
).map(b"".join)


def spoil(data: bytes, run_column: str | None) -> None:
    table = read_or_fault(data, run_column)
    if isinstance(table, Refusal):
        assert "\n" not in table.message
        return
    assert all(len(column.values) == table.n_rows for column in table.numbers.values())
    assert all(len(column.codes) == table.n_rows for column in table.words.values())
    assert all((column.codes < len(column.words)).all() for column in table.words.values())


def run_all(folder: Path, data: bytes, run_column: str | None) -> None:
    for item in read(CSV, folder, {"log.csv": data}, LogMapping(run=RunTemplates(column=run_column))):
        assert isinstance(item, (RunLog, Quarantined))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(noise, st.booleans(), st.sampled_from([None, "step", "b"]))
def test_any_bytes_end_in_a_table_or_a_named_fault(data: bytes, with_header: bool, run_column: str | None) -> None:
    spoil(b"step,b\n" * with_header + data, run_column)


@given(st.integers(0, 60), st.binary(min_size=1, max_size=3))
def test_spoiled_bytes_never_raise(tmp_path_factory: pytest.TempPathFactory, at: int, noise: bytes) -> None:
    text = b'step,loss,note\n1,2.25,a\n2,-1e-3,"x, y"\n3,inf,"p\nq"\n4,5,6\n'
    for run_column in (None, "note"):
        run_all(tmp_path_factory.mktemp("spoiled"), text[:at] + noise + text[at + len(noise) :], run_column)


@pytest.mark.fuzz
@settings(max_examples=30_000, suppress_health_check=list(HealthCheck))
@given(noise, st.booleans(), st.sampled_from([None, "step", "b"]))
def test_many_bytes_end_in_runs_or_named_faults(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, with_header: bool, run_column: str | None
) -> None:
    run_all(tmp_path_factory.getbasetemp(), b"step,b\n" * with_header + data, run_column)
