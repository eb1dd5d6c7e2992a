"""A cell that isn't a number never removes a column and never changes the axis: it quarantines its run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import IngestPlan, plan_ingest
from losslake_ingest.readers.tables.cells import EMPTY_WORDS

MAPPING = """
collection.name = "c"
run = { dataset = "d", model = "m", optimizer = "o", batch_size = 10 }
fields.examples_per_epoch = 100
"""


def planned(folder: Path, name: str, text: str, mapping: str = MAPPING) -> IngestPlan:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "losslake.toml").write_text(mapping)
    (folder / name).write_text(text)
    return plan_ingest(None, [folder], Request())


def refused(folder: Path, name: str, text: str, mapping: str = MAPPING) -> tuple[str, str, int | None, str]:
    plan = planned(folder, name, text, mapping)
    assert not plan.studies
    (item,) = plan.quarantined
    return item.rule, item.path, item.line, item.message.partition(",")[0]


def json_lines(text: str) -> str:
    """Return a CSV as JSON lines, with numbers where its cells are numbers."""
    header, *rows = [line.split(",") for line in text.splitlines()]
    cells = [
        {name: float(cell) if cell.isdigit() else cell for name, cell in zip(header, r, strict=True)} for r in rows
    ]
    return "".join(json.dumps(row) + "\n" for row in cells)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("epoch,step,val_loss\n1,10,5\n2,300x,4\n3,20,3\n", 3, "step is '300x'"),
        ("epoch,step,val_loss\n1,a,5\n2,b,4\n", 2, "step is 'a'"),
        ("epoch,step,val_loss,val_accuracy\n1,10,oops,1\n2,20,4,1\n", 2, "val_loss is 'oops'"),
        ("epoch,step,val_loss,val_accuracy\n1,10,5,1\n2,20,4,1\n3,30,3,TRUE\n", 4, "val_accuracy is 'TRUE'"),
    ],
)
def test_text_in_a_metric_or_axis_quarantines_the_run_with_its_line(
    tmp_path: Path, text: str, line: int, what: str
) -> None:
    assert refused(tmp_path / "csv", "log.csv", text) == ("not_a_number", "log.csv", line, what)
    expected = ("not_a_number", "log.jsonl", line - 1, what)
    assert refused(tmp_path / "jsonl", "log.jsonl", json_lines(text)) == expected


def test_the_line_of_a_bad_cell_counts_blank_lines_repeated_headers_and_line_breaks_in_cells(tmp_path: Path) -> None:
    text = 'step,val_loss,note\n1,2,"a\nb"\n\nstep,val_loss,note\n2,3,c\n3,x,d\n'
    assert refused(tmp_path / "csv", "log.csv", text)[2] == 7
    text = '{"step": 1, "val_loss": 2}\n\nTraceback\n{"step": 2, "val_loss": 2}\n{"step": 3, "val_loss": true}\n'
    assert refused(tmp_path / "jsonl", "log.jsonl", text)[2] == 5


def test_a_bad_cell_quarantines_only_its_run_of_a_file(tmp_path: Path) -> None:
    rows = "".join(f"{run},{step},{'x' if (run, step) == ('b', 2) else step}\n" for step in (1, 2) for run in "abc")
    plan = planned(
        tmp_path, "log.csv", f"id,step,val_loss\n{rows}", MAPPING.replace("run = {", 'run = { column = "id",')
    )
    assert [study.trials for study in plan.studies.values()] == [2]
    assert [(item.path, item.line) for item in plan.quarantined] == [("log.csv#b", 6)]


@pytest.mark.parametrize("word", EMPTY_WORDS)
def test_the_usual_words_for_missing_are_missing(tmp_path: Path, word: str) -> None:
    text = f"step,val_loss\n1,5\n2,{word}\n3,4\n"
    for name, log in (("log.csv", text), ("log.jsonl", json_lines(text))):
        plan = planned(tmp_path / name, name, log)
        (study,) = plan.studies.values()
        assert (study.evaluations, plan.quarantined) == (2, [])


def test_an_empty_axis_is_refused_and_not_replaced_by_another(tmp_path: Path) -> None:
    rule, _, _, message = refused(tmp_path, "log.csv", "epoch,step,val_loss\n1,N/A,5\n2,-,4\n")
    assert (rule, message) == (
        "step_unknown",
        "the axis step is an empty column: choose another [[axis]] in the mapping",
    )


def test_text_in_a_column_that_nothing_uses_is_left_out_and_named(tmp_path: Path) -> None:
    plan = planned(tmp_path, "log.csv", "step,val_loss,host\n1,2,7\n2,1,a7\n")
    assert not plan.quarantined
    assert "text in a column of numbers left out: 'host' (first in log.csv)" in dict(plan.sources[0].remarks)
