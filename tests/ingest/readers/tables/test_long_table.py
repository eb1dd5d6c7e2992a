from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.run_log import Damage, RunLog
from losslake_ingest.formats.csv_and_jsonl import CSV, JSON_LINES
from losslake_ingest.formats.format import Format
from losslake_ingest.mapping.mapping import LogMapping, parse_mapping
from losslake_ingest.pipeline.reading import Request, with_defaults
from losslake_ingest.plan import plan_ingest
from losslake_ingest.readers.tables.runs import NO_METRIC
from tests.ingest.formats.reading import cells, read, runs

ROWS = [
    ("a", 1, "loss", 2.5),
    ("a", 1, "acc", 0.5),
    ("b", 1, "loss", 3.5),
    ("a", 2, "loss", 1.5),
    ("b", 2, "loss", None),
]


def mapping(log_format: Format, text: str = "") -> LogMapping:
    return with_defaults(parse_mapping(text.encode(), "test"), log_format)


def csv_of(*names: str) -> bytes:
    lines = [",".join(names), *(f"{r},{s},{n},{'' if v is None else v}" for r, s, n, v in ROWS), ""]
    return "\n".join(lines).encode()


def metrics(run: RunLog) -> dict[str, tuple[list[float | None], list[float | None]]]:
    found = {}
    for rows in run.rows:
        for name in rows.columns.keys() - {"step"}:
            assert name not in found
            found[name] = cells(rows, "step"), cells(rows, name)
    return found


def test_a_column_of_names_and_one_of_values_are_a_column_for_each_metric(tmp_path: Path) -> None:
    a, b = runs(CSV, tmp_path, {"x.csv": csv_of("run", "step", "metric", "value")}, mapping(CSV, 'run.column = "run"'))
    assert metrics(a) == {"loss": ([1, 2], [2.5, 1.5]), "acc": ([1], [0.5])}
    assert metrics(b) == {"loss": ([1, 2], [3.5, None])}
    assert (a.fields["run"], "value" in a.fields, a.remarks) == ("a", False, {})


def test_json_lines_can_be_a_long_table(tmp_path: Path) -> None:
    lines = [json.dumps({"run": r, "step": s, "metric": n, "value": v}) for r, s, n, v in ROWS if r == "a"]
    (run,) = runs(JSON_LINES, tmp_path, {"x.jsonl": "\n".join([*lines, ""]).encode()}, mapping(JSON_LINES))
    assert metrics(run) == {"loss": ([1, 2], [2.5, 1.5]), "acc": ([1], [0.5])}


def test_the_mapping_names_other_columns(tmp_path: Path) -> None:
    long = mapping(CSV, 'run.column = "run"\nlong = { name = "key", value = "val" }')
    a, _ = runs(CSV, tmp_path, {"x.csv": csv_of("run", "step", "key", "val")}, long)
    assert metrics(a)["acc"] == ([1], [0.5])


def test_a_column_of_values_with_a_metric_of_its_own_stays_a_column(tmp_path: Path) -> None:
    wide = mapping(CSV, 'metrics.value = "val/loss"')
    (run,) = runs(CSV, tmp_path, {"x.csv": csv_of("run", "step", "metric", "value")}, wide)
    assert [cells(rows, "value") for rows in run.rows] == [[2.5, 1.5], [0.5], [3.5, None]]
    assert run.rows[1].fields == {"run": "a", "metric": "acc"}


def test_a_hundred_metrics_are_a_hundred_columns(tmp_path: Path) -> None:
    text = "step,metric,value\n" + "".join(f"{s},m{n},{n}.5\n" for s in range(3) for n in range(100))
    (run,) = runs(CSV, tmp_path, {"x.csv": text.encode()}, mapping(CSV))
    assert metrics(run) == {f"m{n}": ([0, 1, 2], [n + 0.5] * 3) for n in range(100)}


def test_text_among_values_is_refused_for_its_metric_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "losslake.toml").write_text(
        'collection.name = "c"\nrun = { dataset = "d", model = "m", optimizer = "o", batch_size = 8 }\n'
    )
    (tmp_path / "x.csv").write_text("step,metric,value\n1,loss,2.5\n2,note,oops\n3,loss,1.5\n")
    plan = plan_ingest(None, [tmp_path], Request())
    assert ([*plan.quarantined], len(plan.studies)) == ([], 1)
    (tmp_path / "x.csv").write_text("step,metric,value\n1,note,x\n2,loss,oops\n3,loss,1.5\n")
    (item,) = plan_ingest(None, [tmp_path], Request()).quarantined
    assert (item.rule, item.line, "loss is 'oops'" in item.message) == ("not_a_number", 3, True)


@pytest.mark.parametrize("name", ["", "NA"])
def test_a_row_without_a_metric_is_left_out_as_damage(tmp_path: Path, name: str) -> None:
    text = f"step,metric,value\n1,loss,2.5\n2,{name},1.5\n3,loss,0.5\n"
    (run,) = runs(CSV, tmp_path, {"x.csv": text.encode()}, mapping(CSV))
    assert (metrics(run), run.remarks) == ({"loss": ([1, 3], [2.5, 0.5])}, {NO_METRIC: 1})
    assert isinstance(next(iter(run.remarks)), Damage)


QUICK = settings(suppress_health_check=list(HealthCheck))
long_rows = st.lists(
    st.tuples(
        st.sampled_from(["a", "b"]),
        st.integers(0, 3),
        st.sampled_from(["loss", "acc", "val/loss"]),
        st.none() | st.floats(allow_nan=False),
    ),
    min_size=2,
    max_size=12,
)


@QUICK
@given(long_rows)
def test_any_long_table_equals_its_rows_grouped_in_plain_python(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, int, str, float | None]]
) -> None:
    lines = ["run,step,metric,value", *(f"{r},{s},{n},{'' if v is None else v!r}" for r, s, n, v in rows), ""]
    folder = tmp_path_factory.getbasetemp() / "long"
    found = read(CSV, folder, {"x.csv": "\n".join(lines).encode()}, mapping(CSV, 'run.column = "run"'))
    expected: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for run, step, name, value in rows:
        if value is not None:
            expected.setdefault((run, name), []).append((step, value))
    curves: dict[tuple[str, str], list[tuple[float | None, float]]] = {}
    for item in found:
        if isinstance(item, RunLog):
            for name, columns in metrics(item).items():
                points = [(step, value) for step, value in zip(*columns, strict=True) if value is not None]
                curves |= {(str(item.fields["run"]), name): points} if points else {}
    assert curves == expected


@QUICK
@given(st.lists(st.text('a1.,"\n;\t-né', max_size=12), max_size=6))
def test_any_text_below_a_header_of_a_long_table_is_runs_or_quarantined(
    tmp_path_factory: pytest.TempPathFactory, rows: list[str]
) -> None:
    table = "\n".join(["step,metric,value", *rows]).encode()
    for item in read(CSV, tmp_path_factory.getbasetemp() / "any", {"x.csv": table}, mapping(CSV)):
        assert isinstance(item, (RunLog, Quarantined))
