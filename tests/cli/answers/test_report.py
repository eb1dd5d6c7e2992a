"""`losslake report` writes the numbers of the library, with their conditions, and what is left out."""

from __future__ import annotations

import math
import re
import statistics
from pathlib import Path
from typing import Any

import pytest

import losslake as library
from losslake.lake.lake import Lake
from losslake.library.lake import Lake as Library
from losslake_cli.answers.report import report
from losslake_ingest.run import ingest
from losslake_schema.statuses import Status
from tests.cli.conftest import Run
from tests.contributions.made_runs import ERROR, GOALS, curve, name_of, write_run
from tests.ingest.offers import TrialOffer, study_files, unpacked

STORED, OWN = "root/mnist/cnn/sgd", "mine/mnist/cnn/sgd"
STATUSES: list[Status] = ["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
GOAL: dict[str, Any] = {"metric": ERROR, "target": 0.3}


def _falling(start: float, factor: float, n: int = 8) -> list[float]:
    return [start * factor**place for place in range(n)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the lake `stored`, the runs `runs`, their `report`, and a lake with `both`."""
    folder = tmp_path_factory.mktemp("report")
    _write_runs(folder / "runs")
    offer = unpacked(folder / "logs", _stored_files())
    for name, places in (("stored", [offer]), ("both", [offer, folder / "runs"])):
        ingest(Lake.create(folder / name), places)
    report([str(folder / "runs")], folder / "report", lake=str(folder / "stored"))
    return folder


def _stored_files() -> dict[str, bytes]:
    """Trials at two batch sizes, of which some never reach 0.3."""
    files: dict[str, bytes] = {}
    for size, factors in (
        (8, (0.95, 0.92, 0.9, 0.88, 0.86, 0.8, 0.78, 0.75, 0.7, 0.65, 0.6)),
        (16, (0.99, 0.97, 0.9, 0.8, 0.7, 0.6)),
    ):
        trials = {
            number: TrialOffer(rows=[f"{row['step']},{row[ERROR]!r}" for row in curve(_falling(0.9, factor))])
            for number, factor in enumerate(factors, 1)
        }
        files |= study_files(trials, size)
    return files


def _write_runs(folder: Path) -> None:
    """Runs of two settings and seeds at batch size 8, one each that diverged and hasn't ended, and one at 32."""
    plans = [(8, 0.5, 0.1), (8, 0.55, 0.1), (8, 0.6, 0.2), (8, 0.97, 0.2), (32, 0.5, 0.1)]
    for number, (size, factor, rate) in enumerate(plans, 1):
        parameters = {"learning_rate": rate, "seed": number, "note": "a|b `c` <script>"}
        facts: dict[str, Any] = {"collection": "mine", "batch_size": size, "goals": GOALS, "parameters": parameters}
        write_run(folder, number, curve(_falling(0.8, factor)), **facts)
    facts = {"collection": "mine", "goals": GOALS, "parameters": {"learning_rate": 9.0, "seed": 6}}
    write_run(folder, 6, curve([0.9, 0.8, math.nan]), "INFEASIBLE", **facts)
    write_run(folder, 7, curve(_falling(0.8, 0.9, 2)), **facts)
    (folder / name_of(7) / "end.json").unlink()


@pytest.fixture(scope="module")
def reported(folder: Path) -> str:
    """The text of the report of the runs beside the lake."""
    return (folder / "report/report.md").read_text()


@pytest.fixture(scope="module")
def both(folder: Path) -> Library:
    """A lake with the stored trials and the runs."""
    return library.open(folder / "both")


def _tables(text: str) -> list[list[dict[str, str]]]:
    """The tables of a document, as rows by heading."""
    tables = []
    for lines in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        heading, _, *rows = (
            [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines.splitlines()
        )
        tables.append([dict(zip(heading, row, strict=True)) for row in rows])
    return tables


def _shown(value: float | None, digits: int = 6) -> str:
    if value is None or math.isinf(value):
        return "-"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.{digits}g}"


def test_every_number_is_that_of_the_library(reported: str, both: Library) -> None:
    what_was_run, of_runs, by_size, compared, provenance = _tables(reported)
    trials = {f"{row['batch_size']}/{row['trial_id']}": row for row in both.trials(workload=OWN).to_dicts()}
    assert {row["run"] for row in what_was_run} == trials.keys()
    for row in what_was_run:
        listed = trials[row["run"]]
        expected = (listed["status"], _shown(listed["last_step"]), _shown(listed["n_evaluations"]))
        assert (row["status"], row["steps"], row["evaluations"]) == expected
        assert row["`learning_rate`"] == _shown(listed["parameters"]["learning_rate"])
    steps = both.steps_to_target(OWN, **GOAL, status=STATUSES).to_dicts()
    expected_rows = [
        (
            f"{row['batch_size']}/{row['trial_id']}",
            _shown(row["steps"]) if row["steps"] is not None else f"not by step {row['censored_at']}",
            _shown(row["previous_step"]),
            _shown(row["value"]),
        )
        for row in steps
    ]
    assert [(r["run"], r["steps"], r["evaluation before"], r["value there"]) for r in of_runs] == expected_rows
    assert by_size == [row for size in (8, 32) for row in _by_size(both, size)]
    answer = both.compare([STORED, OWN], **GOAL, baseline=STORED)
    rows = {(row["batch_size"], row["workload"]): row for row in answer.to_dicts()}
    (shown,), own, base = compared, rows[8, OWN], rows[8, STORED]
    assert [shown[name] for name in ("best of", "their steps", "stored steps", "settings of the runs")] == [
        _shown(own["budget"]), _shown(own["median_amount"]), _shown(base["median_amount"]), _shown(own["n_settings"])
    ]  # fmt: skip
    if own["difference"] in ("fewer", "more", "not told"):
        assert (shown["ratio"], shown["p"]) == (_shown(own["ratio"], 3), _shown(own["p_value"], 2))
    for conclusion in answer.facts["conclusions"]:
        assert conclusion["in_words"] in _unescaped(reported)
    assert [row["trial"] for row in provenance] == [f"`{row['trial']}`" for row in both.trials(workload=OWN).to_dicts()]


def _by_size(lake: Library, size: int) -> list[dict[str, str]]:
    """The rows of the table by batch size, in plain Python."""
    rows = []
    for workload, name in ((OWN, "the runs"), (STORED, f"`{STORED}`")):
        answer = lake.steps_to_target(workload, **GOAL).to_dicts()
        steps = [math.inf if row["steps"] is None else row["steps"] for row in answer if row["batch_size"] == size]
        if steps:
            numbers = (len(steps), sum(map(math.isfinite, steps)), min(steps), statistics.median(steps))
            names = ("trials", "reach it", "fewest steps", "median steps")
            cells = dict(zip(names, map(_shown, map(float, numbers)), strict=True))
            rows.append({"batch size": str(size), "trials of": name, **cells})
    return rows


def _unescaped(text: str) -> str:
    return re.sub(r"\\([^a-zA-Z0-9\s])", r"\1", text)


_OTHERS = ("INCOMPLETE", "INFEASIBLE")


def test_what_is_left_out_and_not_checked_is_said(reported: str, both: Library) -> None:
    text = _unescaped(reported)
    unfinished, diverged = (
        [row["run"] for row in _tables(reported)[1] if row["status"] == status] for status in _OTHERS
    )
    assert f"run {unfinished[0]} of `{OWN}` is INCOMPLETE: it was stopped, or hadn't ended" in text
    assert f"run {diverged[0]} of `{OWN}` is INFEASIBLE: it diverged; it isn't counted." in text
    points = [f"{row['step']}={row[ERROR]!r}" for row in curve(_falling(0.8, 0.9, 2))]
    forecast = both.forecast(STORED, batch_size=8, curve=points, **GOAL)
    assert re.search(
        rf"near_copy_of_run: {OWN}/\d+/1: 8 of its 8 values in a row are equal to those of {OWN}/\d+/1", text
    )
    assert f"Forecast of run {unfinished[0]}, from the trials of `{STORED}` of its batch size" in text
    assert " ".join(forecast.facts["forecast"]) in text
    assert f"`{STORED}` has no trial at batch size 32." in text
    assert "in the same way isn't checked." in text


def test_names_and_facts_of_logs_are_no_markup(reported: str) -> None:
    assert "<script>" not in re.sub(r"`[^`]*`", "", reported).replace("\\<script\\>", "")
    assert "| a\\|b \\`c\\` \\<script\\> |" in reported


def test_the_stored_release_is_named_and_cited_and_the_draft_is_not(losslake: Run, reported: str, folder: Path) -> None:
    stored = folder / "stored"
    release = library.open(stored).releases().to_dicts()[0]
    assert f"Stored trials are those of release {release['release']} of a LossLake lake" in reported
    assert f"sha256:{release['content_digest']}" in reported
    assert losslake("cite", STORED, "--lake", stored, "--format", "bibtex").stdout.strip() in reported
    assert f"losslake report {folder / 'runs'} --lake {stored} --release 1" in reported
    figures = sorted(path.name for path in (folder / "report").glob("*.svg"))
    assert figures == ["curves-32.svg", "curves-8.svg", "scaling.svg"]
    assert sorted(re.findall(r"\]\(([\w-]+\.svg)\)", reported)) == figures
    assert not any("release" in (folder / "report" / name).read_text() for name in figures)


def test_trials_of_a_lake_are_reported_beside_the_others(losslake: Run, folder: Path, tmp_path: Path) -> None:
    stored = folder / "stored"
    goal = ("--metric", ERROR, "--target", "0.3")
    done = losslake("report", f"{STORED}/8/8", f"{STORED}/8/1", "--lake", stored, "--to", tmp_path / "r", *goal)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "r/report.md").read_text()
    _, _, by_size, _ = _tables(text)
    lake = library.open(stored)
    steps = {row["trial_id"]: row["steps"] for row in lake.steps_to_target(STORED, **GOAL, batch_size=8).to_dicts()}
    own, others = ([each for number, each in steps.items() if (number in (1, 8)) is is_own] for is_own in (True, False))
    for row, expected in zip(by_size, (own, others), strict=True):
        reached = [each for each in expected if each is not None]
        assert (row["trials"], row["reach it"]) == (str(len(expected)), str(len(reached)))
        assert row["fewest steps"] == _shown(min(reached))
    assert "isn't compared: root/mnist/cnn/sgd has other trials, too" in _unescaped(text)
    assert "by batch size, of all trials of the workload, reported ones among them" not in text  # at one batch size
    assert "at batch size 8: the runs over the stored trials (grey)" in text
    assert lake.cite().to_dicts()[0]["bibtex"] in text


def test_runs_beside_an_empty_lake_are_reported_alone(
    losslake: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Lake.create(tmp_path / "empty")
    monkeypatch.setenv("LOSSLAKE_LAKE", str(tmp_path / "empty"))
    done = losslake("report", folder / "runs", "--to", tmp_path / "r", "--png")
    assert done.returncode == 0, done.stderr
    assert "with nothing: no stored workload has its data set and model" in done.stdout
    text = (tmp_path / "r/report.md").read_text()
    assert "There is no release to compare them with." in text
    assert "No stored collection was used." in text
    assert "(grey)" not in text
    assert (tmp_path / "r/scaling.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nothing",), "nothing is neither a file or folder nor a study or trial"),
        ((f"{STORED}/99",), f"there is no study {STORED}/99"),
        ((f"{STORED}/8/99",), f"there is no trial {STORED}/8/99"),
        ((f"{STORED}/8", "--metric", "val/x"), "give --metric and --target together"),
        ((f"{STORED}/8", "--metric", "val/x", "--target", "1"), "--metric val/x: no run measures it"),
        ((f"{STORED}/8", "--lake", "x", "--url", "http://x"), "give either --lake or --url, not both"),
        ((f"{STORED}/8", "--to", "{folder}"), "has other files than a report: give a new or empty folder by --to"),
        (("{folder}", "x"), "x doesn't exist: give folders and logs, or studies and trials of a lake, not both"),
    ],
)
def test_a_wrong_input_is_one_line(losslake: Run, tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    given = [text.format(folder=tmp_path) for text in arguments]
    to = () if "--to" in given else ("--to", str(tmp_path / "r"))
    done = losslake("report", *given, *to)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert says in done.stderr
