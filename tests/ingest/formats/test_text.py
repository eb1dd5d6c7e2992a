"""Text logs: lines by expressions, against a plain reading of every line."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import BadMapping, Refusal
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.text import FORMAT
from losslake_ingest.mapping.expressions import TextLines
from losslake_ingest.mapping.mapping import LogMapping, bundled_mappings, load_mapping, parse_mapping
from losslake_ingest.pipeline.reading import with_defaults
from losslake_ingest.readers.text_logs import lines
from losslake_ingest.readers.text_logs.lines import constant, read_text
from losslake_ingest.readers.text_logs.proposal import proposed, proposed_line, toml_expressions
from tests.ingest.formats.reading import cells, read, runs

STEPS = r"""lines = ['step:(?P<step>\d+)/\d+ val_loss:(?P<val_loss>\S+)']"""


def mapping(text: str) -> LogMapping:
    return with_defaults(parse_mapping(f"[text]\n{text}\n".encode(), "test"), FORMAT)


def test_named_groups_are_columns(tmp_path: Path) -> None:
    log = b"import torch\nstep:0/9 val_loss:10.5 t:1\nstep:1/9 t:2\nstep:5/9 val_loss:nan t:3\n"
    (run,) = runs(FORMAT, tmp_path, {"a.log": log}, mapping(STEPS))
    assert (cells(run.rows[0], "step"), cells(run.rows[0], "val_loss")[0]) == ([0.0, 5.0], 10.5)
    assert str(cells(run.rows[0], "val_loss")[1]) == "nan"


def test_several_expressions_with_the_same_axis_give_rows_in_order(tmp_path: Path) -> None:
    two = r"lines = ['s (?P<step>\d+) a (?P<a>\S+)', 's (?P<step>\d+) b (?P<b>\S+)']"
    (run,) = runs(FORMAT, tmp_path, {"a.log": b"s 1 a 5\ns 1 b 6\ns 2 a 7\n"}, mapping(two))
    (rows,) = run.rows
    assert (cells(rows, "step"), cells(rows, "a"), cells(rows, "b")) == ([1, 1, 2], [5, None, 7], [None, 6, None])


def test_expressions_with_other_axes_keep_their_own(tmp_path: Path) -> None:
    two = r"lines = ['step (?P<step>\d+) a (?P<a>\S+)', 'epoch (?P<epoch>\d+) b (?P<b>\S+)']"
    (run,) = runs(FORMAT, tmp_path, {"a.log": b"step 1 a 5\nepoch 1 b 6\n"}, mapping(two))
    assert [set(rows.columns) for rows in run.rows] == [{"step", "a"}, {"epoch", "b"}]


def test_carried_columns_come_from_the_lines_above_as_stated(tmp_path: Path) -> None:
    text = r"""lines = ['^Epoch (?P<epoch>\d+)/', '^val Loss: (?P<val_loss>\S+)']
carried = ["epoch"]
carried_from = "above"
"""
    (run,) = runs(
        FORMAT, tmp_path, {"a.log": b"val Loss: 9\nEpoch 1/2\nval Loss: 3\nEpoch 2/2\nval Loss: 2\n"}, mapping(text)
    )
    (rows,) = run.rows
    assert cells(rows, "epoch") == [None, 1, 1, 2, 2]
    assert cells(rows, "val_loss") == [9, None, 3, None, 2]


def test_only_the_last_batch_of_an_evaluation_counts(tmp_path: Path) -> None:
    text = r"lines = ['(?P<step>\d+): \[(?P<at>\d+)/(?P<end>\d+)\] (?P<loss>\S+)']"
    (run,) = runs(FORMAT, tmp_path, {"a.log": b"1: [0/9] 5\n1: [9/9] 4\n2: [9/9] 3\n"}, mapping(text))
    assert (cells(run.rows[0], "step"), cells(run.rows[0], "loss")) == ([1, 2], [4, 3])
    assert set(run.rows[0].columns) == {"step", "loss"}


def test_a_line_that_starts_a_run_separates_runs(tmp_path: Path) -> None:
    log = b"step:0/2 val_loss:9\nstep:1/2 val_loss:8\nstep:0/2 val_loss:7\nstep:1/2 val_loss:x\n"
    first, second = runs(FORMAT, tmp_path, {"a.log": log}, mapping(STEPS + "\nstarts = '^step:0/'"))
    assert (first.run, cells(first.rows[0], "val_loss")) == ("a.log#1", [9, 8])
    assert (second.run, cells(second.rows[0], "val_loss"), second.rows[0].texts["val_loss"].line) == (
        "a.log#2",
        [7, None],
        4,
    )


def test_a_file_with_too_many_starts_of_runs_is_refused(tmp_path: Path) -> None:
    log = b"step:0/2 val_loss:9\n" * (lines.MOST_RUNS + 1)
    (item,) = read(FORMAT, tmp_path, {"a.log": log}, mapping(STEPS + "\nstarts = '^step:0/'"))
    assert isinstance(item, Quarantined)
    assert item.rule == "file_too_large"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("8 * 64", 512),
        ("8*64*1024 ", 524_288),
        ("524_288", 524_288),
        ("491,520", 491_520),
        ("1e-3", 0.001),
        ("'adam'", "adam"),
    ],
)
def test_constants_are_products_numbers_or_texts(text: str, value: object) -> None:
    assert constant(text) == value


def test_constants_are_fields_and_the_first_expression_that_matches_counts(tmp_path: Path) -> None:
    text = r"constants = ['^batch_size = (?P<b>[\d *]+)$', '^other = (?P<b>\d+)', 'opt (?P<opt>\w+)']"
    log = b"batch_size = A.size\nbatch_size = 8 * 64\nother = 3\nopt adam\nstep:0/1 val_loss:1\nbatch_size = 512\n"
    (run,) = runs(FORMAT, tmp_path, {"a.log": log}, mapping(f"{STEPS}\n{text}"))
    assert run.fields == {"b": 512, "opt": "adam"}


def test_constants_that_disagree_are_refused(tmp_path: Path) -> None:
    log = b"b 1\nstep:0/1 val_loss:1\nb 2\n"
    (item,) = read(FORMAT, tmp_path, {"a.log": log}, mapping(f"{STEPS}\nconstants = ['^b (?P<b>.*)']"))
    assert isinstance(item, Quarantined)
    assert (item.rule, "1 in one line and 2 in another" in item.message) == ("facts_disagree", True)


def test_a_value_that_is_no_number_has_its_line(tmp_path: Path) -> None:
    log = b"x\r\nstep:0/1 val_loss:+1\r\nstep:1/1 val_loss:2,\r\nstep:2/1 val_loss:3;\r\n"
    (run,) = runs(FORMAT, tmp_path, {"a.log": log}, mapping(STEPS))
    cell = run.rows[0].texts["val_loss"]
    assert (cell.text, cell.line, cells(run.rows[0], "val_loss")) == ("2,", 3, [1, None, None])


LOG = "step:0/9 val_loss:1\nstep:1/9 val_loss:0.5\n"


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (b"lr=0.1\nstep 1 loss 2.5\nstep 2 loss 1.5e-4\n", "loss is '1.5', and the number goes on with 'e-4'"),
        (b"lr=1e-4\nstep 1 loss 2.5\n", "lr is '1', and the number goes on with 'e-4'"),
        (b"lr=1e+4\nstep 1 loss 2.5\n", "lr is '1', and the number goes on with 'e+4'"),
    ],
)
def test_a_group_that_ends_within_a_number_is_refused(tmp_path: Path, log: bytes, said: str) -> None:
    text = r"""lines = ['step (?P<step>\d+) loss (?P<loss>[\d.]+)']
constants = ['lr=(?P<lr>[\d.]+)']"""
    (item,) = read(FORMAT, tmp_path, {"a.log": log}, mapping(text))
    assert isinstance(item, Quarantined)
    assert (item.rule, item.message.partition(":")[0]) == ("not_a_number", said)
    (run,) = runs(FORMAT, tmp_path / "other", {"b.log": b"lr=0.1s\nstep 1 loss 2.5e\n"}, mapping(text))
    assert (run.fields["lr"], cells(run.rows[0], "loss")) == (0.1, [2.5])


@pytest.mark.parametrize(
    ("expression", "line", "said"),
    [
        (
            r"step (?P<step>\d+).*loss (?P<loss>\S+)",
            "step 1,000 loss 2",
            "step is '1', and the number goes on with ',000'",
        ),
        (
            r"step (?P<step>\d+) loss (?P<loss>[\d.]+).*acc",
            "step 1 loss 1.5e-4 acc 1",
            "loss is '1.5', and the number goes on",
        ),
        (
            r"step (?P<step>\d+).* (?P<loss>\d+).*acc",
            "step 1 loss 0.5 acc 1",
            "loss is '0', and the number goes on with '.5'",
        ),
        (r"step (?P<step>\d+).*(?P<loss>\d\.\d+)", "step 1 loss 12.5", "loss is '2.5', and the number begins with '1'"),
        (r"step (?P<step>\d+).*(?P<loss>\d+)", "step 1 loss 12.5", "loss is '5', and the number begins with '12.'"),
        (
            r"step (?P<step>\d+).*?loss.*?(?P<loss>[\d.]+)",
            "step 1 loss -2.5",
            "loss is '2.5', and the number begins with '-'",
        ),
        (r"(?P<loss>[\d.]+) at step (?P<step>\d+)", "-2.5 at step 1", "loss is '2.5', and the number begins with '-'"),
    ],
)
def test_a_group_that_is_a_part_of_a_number_is_refused(tmp_path: Path, expression: str, line: str, said: str) -> None:
    (item,) = read(FORMAT, tmp_path, {"a.log": f"x\n{line}\n".encode()}, mapping(f"lines = ['{expression}']"))
    assert isinstance(item, Quarantined)
    assert (item.rule, item.line, said in item.message) == ("not_a_number", 2, True)


@pytest.mark.parametrize(
    ("expression", "line", "columns"),
    [
        (r"(?P<epoch>\d+)\.(?P<batch>\d+): (?P<loss>\S+)", "3.25: 0.5", {"epoch": [3], "batch": [25], "loss": [0.5]}),
        (r"^(?P<step>\d+),(?P<n>\d+),(?P<loss>.*)", "5,250,-0.5", {"step": [5], "n": [250], "loss": [-0.5]}),
        (r"step-(?P<step>\d+) v(?P<v>\d+)e loss (?P<loss>\S+)", "step-5 v2e loss 1", {"step": [5], "v": [2]}),
        (r"step (?P<step>\d+)(?: acc (?P<acc>\d+))? loss (?P<loss>\S+)", "step 7 loss 1e-3", {"loss": [0.001]}),
        (r"step (?P<step>[\d,]+), loss (?P<loss>\S+)", "step 1,234,567, loss 2", {"step": [1_234_567], "loss": [2]}),
    ],
)
def test_groups_that_hold_whole_numbers_or_share_one_are_read(
    tmp_path: Path, expression: str, line: str, columns: dict[str, list[float]]
) -> None:
    (run,) = runs(FORMAT, tmp_path, {"a.log": f"{line}\n".encode()}, mapping(f"lines = ['{expression}']"))
    (rows,) = run.rows
    assert {name: cells(rows, name) for name in columns} == columns


def test_commas_in_a_number_are_read_in_steps_only(tmp_path: Path) -> None:
    expression = r"(?P<step>\S+) (?P<loss>\S+)"
    log = b"999 0.5\n1,000 2,345\n1,00 0.2\n"
    (run,) = runs(FORMAT, tmp_path, {"a.log": log}, mapping(f"lines = ['{expression}']"))
    (rows,) = run.rows
    assert (cells(rows, "step"), cells(rows, "loss")) == ([999, 1000, None], [0.5, None, 0.2])
    assert {name: cell.text for name, cell in rows.texts.items()} == {"step": "1,00", "loss": "2,345"}


PRINTED_NUMBER = st.one_of(
    st.tuples(st.sampled_from(["{}", "{:.3f}", "{:.2e}", "{:g}", "{:+.1f}"]), st.floats(-1e9, 1e9)).map(
        lambda each: each[0].format(each[1])
    ),
    st.integers(-(10**9), 10**9).map("{:,}".format),
)
NARROW = [r"\d+", r"[\d.]+", r"-?[\d.]+", r"\d+\.\d+", r"[-+\d.]+", r"[\d.e]+", r"[\d,]+", r"[-+.\w]+?"]
AROUND = [r"loss {} acc", r"loss {}", r"loss {}.*acc", r"loss.*?{}.*acc (?P<acc>\S+)", r".*{} acc", r".*{}.* acc"]


@settings(max_examples=settings().max_examples * 3)
@given(PRINTED_NUMBER, st.sampled_from(NARROW), st.sampled_from(AROUND))
def test_a_number_is_read_whole_or_not_at_all(number: str, narrow: str, around: str) -> None:
    text = TextLines([r"^step (?P<step>\d+) " + around.format(f"(?P<loss>{narrow})")])
    log = f"step 1 loss {number} acc 0.5\n".encode()
    try:
        found = read_text(log, text, frozenset({"step"}))
    except Refusal:
        return
    for each in found:
        (rows,) = each.rows
        assert cells(rows, "loss") in ([None], [float(number.replace(",", ""))])


@pytest.mark.parametrize(
    "data",
    [
        LOG.replace("\n", "\r\n").encode(),
        LOG.replace("\n", "\r").encode(),
        b"\xef\xbb\xbf" + LOG.encode(),
        LOG.encode("utf-16"),
        b"\xfe\xff" + LOG.encode("utf-16-be"),
        LOG.replace("val_loss:", "\x1b[31mval_loss:").replace("1\n", "1\x1b[0m\n").encode(),
        LOG.encode() + b"\0\0\xff\xfe caf\xe9\n" * 3,
        b"x" * 5_000_000 + b"\n" + LOG.encode(),
        LOG.encode() + b"step:2/9 val_loss:" + b"1" * 100_000 + b"\n",
    ],
    ids=["CRLF", "CR", "mark", "UTF-16", "UTF-16 BE", "colours", "NUL and other bytes", "long line", "long number"],
)
def test_line_ends_encodings_colours_and_long_lines_change_nothing(tmp_path: Path, data: bytes) -> None:
    (run,) = runs(FORMAT, tmp_path, {"a.log": data}, mapping(STEPS))
    assert (cells(run.rows[0], "step"), cells(run.rows[0], "val_loss")) == ([0, 1], [1, 0.5])


def test_lines_that_are_too_long_are_counted(tmp_path: Path) -> None:
    longest = b"x" * (lines.LONGEST_LINE - 1) + b"\n"
    (run,) = runs(FORMAT, tmp_path, {"a.log": longest + b"x" + longest + LOG.encode()}, mapping(STEPS))
    assert run.remarks == {lines.TOO_LONG: 1, lines.UNMATCHED: 1}


def test_lines_without_a_match_are_counted(tmp_path: Path) -> None:
    (run,) = runs(FORMAT, tmp_path, {"a.log": b"x\n\ny\n" + LOG.encode()}, mapping(STEPS))
    assert run.remarks == {lines.UNMATCHED: 2}


def test_a_log_without_a_match_is_quarantined_with_a_proposal(tmp_path: Path) -> None:
    (item,) = read(FORMAT, tmp_path, {"a.log": b"iter 5: loss 2.5\n" * 3}, mapping(STEPS))
    assert isinstance(item, Quarantined)
    assert item.rule == "no_measurements"
    assert "add to losslake.toml, under [text]: lines = ['\\biter *(?P<iter>" in item.message


@pytest.mark.parametrize(
    "expression",
    [
        r"(?P<a>(?<=b)c)",
        r"(?P<a>b)\1",
        r"(?P<a>(b)c)",
        "abc",
        "(?P<a>b",
        "(?P<a>b)(?P<a>c)",
        "(?P<a>b{1001})",
        "(?P<a>b)" + "c" * 1000,
    ],
)
def test_an_expression_that_cannot_be_matched_in_linear_time_is_refused_in_one_line(expression: str) -> None:
    with pytest.raises(BadMapping) as error:
        mapping(f"lines = ['{expression}']")
    assert "\n" not in str(error.value)
    assert "[text]" in str(error.value)


def test_catastrophic_expressions_are_matched_in_linear_time(tmp_path: Path) -> None:
    evil = (
        r"lines = ['(?P<a>(?:x+x+)+y)', '^(?P<b>(?:(?:a|a)*)*)$z', 'step:(?P<step>\d+)/\d+ val_loss:(?P<val_loss>\S+)']"
    )
    data = (b"x" * 60_000 + b"\n" + b"a" * 60_000 + b"\n") * 20 + LOG.encode()
    (run,) = runs(FORMAT, tmp_path, {"a.log": data}, mapping(evil))
    assert cells(run.rows[0], "val_loss") == [1, 0.5]


@pytest.mark.slow
def test_matching_that_would_stall_an_ingest_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "FIRST_SECONDS", 0.05)
    slow = f"lines = ['(?P<a>{'(?:a?b?c?.{0,900})' * 6}z$)', '(?P<b>{'(?:.?x?){900}' * 2}z)']"
    (item,) = read(FORMAT, tmp_path, {"a.log": b"abcabcabcxx" * 1000 + b"\n" + b"abx" * 3_000_000}, mapping(slow))
    assert isinstance(item, Quarantined)
    assert (item.rule, "simplify the expressions" in item.message) == ("unreadable_log", True)


def check_series(rng: random.Random) -> None:
    noise = ["", "loading", "val_loss:", "step:x/1 val_loss:3", "\tstep:7/7  val_loss:1", "é …", "step:1/2 val_loss: 5"]
    written = []
    for step in range(rng.randrange(1, 200)):
        number = rng.choice(
            [repr(rng.lognormvariate(0, 9)), f"{rng.random():.4f}", "nan", "-inf", f"{rng.random():.3E}"]
        )
        written += [rng.choice(noise)] * rng.randrange(3) + [
            f"{rng.choice(['', '> '])}step:{step}/200 val_loss:{number} t"
        ]
    data = rng.choice(["\n", "\r\n"]).join(written).encode()
    expected = []
    for line in written:
        match = re.search(r"step:(\d+)/\d+ val_loss:(\S+)", line)
        expected += [(float(match[1]), repr(float(match[2])))] if match else []
    (each,) = read_text(data, mapping(STEPS).text, frozenset({"step"}))
    (rows,) = each.rows
    assert list(zip(cells(rows, "step"), map(repr, cells(rows, "val_loss")), strict=True)) == expected


def test_200_random_series_equal_a_plain_reading() -> None:
    for seed in range(200):
        check_series(random.Random(seed))


def test_a_cut_or_flipped_log_is_a_run_or_quarantined(tmp_path: Path) -> None:
    data = bytearray(LOG.encode() * 20)
    rng = random.Random(1)
    for at in range(0, len(data), 7):
        flipped = data.copy()
        flipped[at] ^= 1 << rng.randrange(8)
        for changed in (data[:at], flipped):
            for item in read(FORMAT, tmp_path, {"a.log": bytes(changed)}, mapping(STEPS)):
                assert isinstance(item, (RunLog, Quarantined))


pieces = st.sampled_from(
    [
        b"step:",
        b"1/9",
        b" val_loss:",
        b"1.5",
        b"nan",
        b"\n",
        b"\r",
        b"\r\n",
        b"\0",
        b"\xff\xfe",
        b"\x1b[1m",
        b"+",
        b"1e999",
    ]
)
anything = st.lists(pieces | st.binary(max_size=5), max_size=60).map(b"".join)
QUICK = settings(suppress_health_check=list(HealthCheck))
LONG = settings(QUICK, max_examples=30_000)
ALL_KEYS = (
    STEPS
    + r"""
constants = ['x=(?P<x>.*)']
carried = ["step"]
starts = '^step:1'
"""
)


def check(folder: Path, data: bytes) -> None:
    for item in read(FORMAT, folder / "text", {"a.log": data}, mapping(ALL_KEYS)):
        assert isinstance(item, (RunLog, Quarantined))


@pytest.mark.slow
@QUICK
@given(anything)
def test_any_bytes_are_runs_or_quarantined(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    check(tmp_path_factory.getbasetemp(), data)


@pytest.mark.fuzz
@LONG
@given(anything)
def test_many_bytes_are_runs_or_quarantined(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    check(tmp_path_factory.getbasetemp(), data)


lines_of_words = st.lists(
    st.lists(st.sampled_from(["step", "val", "loss", ":", "=", " ", "1", "2.5", "nan", "%", "/", "é", "'", "]"])).map(
        "".join
    ),
    max_size=5,
)


@QUICK
@given(lines_of_words)
@example(["1stepstep:1step:1"])
def test_every_proposed_expression_is_valid_and_matches(texts: list[str]) -> None:
    data = "\n".join(texts).encode()
    found = proposed(data)
    if found.lines:
        again = mapping(f"{toml_expressions('lines', found.lines)}")
        assert read_text(data, again.text, frozenset())


# The lines are made by the printing statements that each mapping quotes.
PRINTED: dict[str, tuple[str, dict[str, list[float]], dict[str, object]]] = {
    "nanogpt": (
        (
            "tokens per iteration will be: 491,520\nstep 0: train loss 10.9890, val loss 10.9893\n"
            "iter 0: loss 10.9896, time 34025.12ms, mfu -100.00%\nstep 250: train loss 5.1000, val loss 5.2000\n"
        ),
        {"step": [0, 250], "val_loss": [10.9893, 5.2], "iter": [0], "batch_loss": [10.9896]},
        {"tokens_per_iteration": 491_520},
    ),
    "modded_nanogpt": (
        (
            "    batch_size : int = 8*64 # batch size, in sequences\n    sequence_length : int = 1024 # in tokens\n"
            "step:0/5 val_loss:10.9 train_time:0ms\nstep:1/5 train_loss:9.5 train_time:9ms step_avg:nanms\n"
        ),
        {"step": [0, 1, 1], "val_loss": [10.9], "train_ms": [0], "train_loss": [9.5], "other_ms": [9]},
        {"sequences": 512, "length": 1024, "planned_steps": 5},
    ),
    "llmc_stdout": (
        (
            "batch_size B=64 * seq_len T=1024 * num_processes=8 and total_batch_size=524288\nval loss 11.000000\n"
            "step    1/19560 | loss 10.990112 (+nanz)| norm 15.3700 (+nanz)| lr 8.57e-07 | 1.00 ms | 1 tok/s\n"
            "val loss 10.950000\n"
        ),
        {"step": [1, 1], "train_loss": [10.990112], "val_loss": [11.0, 10.95]},
        {"total_batch_size": 524_288},
    ),
    "megatron": (
        (
            " iteration      100/  500000 | consumed samples:        25600 | elapsed time per iteration (ms): 9.0 |"
            " learning rate: 1.500E-04 | global batch size:   256 | lm loss: 1.042000E+01 | loss scale: 1.0 |\n"
            " validation loss at iteration 100 | lm loss value: 1.030000E+01 | lm loss PPL: 2.973E+04 | \n"
            " validation loss at iteration 100 on validation set | lm loss value: 1.1E+01 | lm loss PPL: 2.9E+04 | \n"
        ),
        {"iteration": [100, 100], "train_loss": [10.42], "val_loss": [10.3]},
        {"global_batch_size": 256},
    ),
    "fairseq": (
        (
            "01-01 10:00 | INFO | train | epoch 001 | loss 11.2 | nll_loss 10.6 | ppl 1560.6 | num_updates 300\n"
            "01-01 10:00 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 9.1 | nll_loss 8.3 | ppl 315.2"
            " | wps 0 | num_updates 300\n"
        ),
        {"num_updates": [300, 300], "train_loss": [11.2], "val_loss": [9.1], "val_nll_loss": [8.3]},
        {},
    ),
    "timm": (
        (
            "Train: 0 [   0/1251 (  0%)]  Loss: 6.94 (6.94)  Time: 9.1s  LR: 1.000e-06\n"
            "Test: [   0/48]  Time: 1.0 (1.0)  Loss:   6.800 ( 6.800)  Acc@1:   0.100 (  0.100)  Acc@5:   1.0 (  1.0)\n"
            "Test: [  48/48]  Time: 0.1 (0.2)  Loss:   6.700 ( 6.500)  Acc@1:   1.300 (  1.212)  Acc@5:   4.0 (  4.5)\n"
        ),
        {"epoch": [0, 0], "val_loss": [6.5], "val_acc1": [1.212]},
        {"updates_per_epoch": 1251},
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_the_lines_of_a_program_are_recognized(name: str) -> None:
    assert proposed_line(PRINTED[name][0].encode()).startswith(f"its lines are those of {name}:")


@pytest.mark.parametrize("name", PRINTED)
def test_a_ready_mapping_reads_what_its_program_prints(tmp_path: Path, name: str) -> None:
    data, columns, fields = PRINTED[name]
    ready = with_defaults(load_mapping(bundled_mappings()[name]), FORMAT)
    (run,) = runs(FORMAT, tmp_path, {"a.log": data.encode()}, ready)
    found: dict[str, list[float]] = {}
    for rows in run.rows:
        for column in rows.columns:
            found.setdefault(column, []).extend(value for value in cells(rows, column) if value is not None)
    assert found | columns == found
    assert run.fields == fields
    assert not any(cell.text for rows in run.rows for cell in rows.texts.values())
