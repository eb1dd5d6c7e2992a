"""MLPerf's results of published logs: by REST, library and command alike, and equal to the log lines."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

import losslake as library
from losslake.lake.lake import Lake
from losslake_cli.main import main
from losslake_ingest.run import ingest
from tests.applications import without_sql
from tests.conformance.corpora import ROOT, sample
from tests.ingest.offers import unpacked
from tests.losslake.questions.results.raw_logs import logs_in, score, with_mapping

PARTS = ("training_results_v0.6/Google", "training_results_v0.7/DellEMC")
PARAMETERS = {"benchmark": "resnet", "sort": "-time_s"}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    corpus = sample("mlperf")
    paths = [path for part in PARTS for path in (corpus / part).rglob("result_*.txt")]
    files = {str(path.relative_to(corpus)): path.read_bytes() for path in paths}
    return unpacked(tmp_path_factory.mktemp("logs"), with_mapping(files))


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory, logs: Path) -> Lake:
    made = Lake.create(tmp_path_factory.mktemp("results") / "lake")
    ingest(made, [logs])
    return made


def rest(lake: Lake, ending: str = "", **parameters: Any) -> Any:
    with TestClient(without_sql(lake)) as client:
        answer = client.get(f"/v1/results{ending}", params=parameters)
    assert answer.status_code == 200
    return answer.text if ending else answer.json()


def test_times_of_published_logs_equal_their_lines(lake: Lake, logs: Path) -> None:
    rows = rest(lake)["rows"]
    folders = {path.parent for path in logs.rglob("result_*.txt")}
    assert len(rows) == len(folders) > 5
    for folder in folders:
        round_, organisation, _, system, benchmark = folder.relative_to(logs).parts
        facts = (round_.removeprefix("training_results_v"), system, benchmark)
        (row,) = (each for each in rows if (each["round"], each["system"], each["benchmark"]) == facts)
        assert organisation.casefold().startswith(row["organisation"].casefold()[:4])
        assert (row["time_s"], row["run_times_s"]) == score(benchmark, logs_in(folder))
        assert all(url.startswith(f"https://github.com/mlcommons/{round_}/blob/") for url in row["logs"])


def test_rest_library_and_command_give_the_same_answer(lake: Lake, capfdbinary: Any, monkeypatch: Any) -> None:
    answer = rest(lake, **PARAMETERS)
    assert len(answer["rows"]) == answer["total"] > 2
    table = library.open(lake.folder).results(benchmark=PARAMETERS["benchmark"], sort=PARAMETERS["sort"])
    facts = {name: value for name, value in answer.items() if name not in ("rows", "total", "next_cursor")}
    assert table.facts == facts
    assert table.to_arrow().to_pylist() == answer["rows"]
    options = [part for name, value in PARAMETERS.items() for part in (f"--{name}", value)]
    monkeypatch.setattr("sys.argv", ["losslake", "results", *options, "--format", "json", "--lake", str(lake.folder)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert json.loads(capfdbinary.readouterr().out) == answer


def test_csv_has_the_same_rows(lake: Lake) -> None:
    answer = rest(lake, **PARAMETERS, fields="submission,time_s,run_times_s")
    found = list(csv.DictReader(io.StringIO(rest(lake, ".csv", **PARAMETERS, fields="submission,time_s,run_times_s"))))
    assert [row["submission"] for row in found] == [row["submission"] for row in answer["rows"]]
    assert [float(row["time_s"]) for row in found] == [row["time_s"] for row in answer["rows"]]
    assert [json.loads(row["run_times_s"]) for row in found] == [row["run_times_s"] for row in answer["rows"]]


def test_the_next_page_is_linked(lake: Lake) -> None:
    with TestClient(without_sql(lake)) as client:
        answer = client.get("/v1/results?limit=2&sort=time_s")
        following = client.get(f"/v1/results{answer.links['next']['url']}")
    assert (answer.headers["LossLake-Total"], len(answer.json()["rows"])) == (str(answer.json()["total"]), 2)
    assert following.json()["rows"][0] not in answer.json()["rows"]


def test_an_unknown_value_is_one_line_with_advice(lake: Lake) -> None:
    with TestClient(without_sql(lake)) as client:
        answer = client.get("/v1/results?organisation=Gogle")
    assert answer.status_code == 422
    assert "no submission of this release has organisation 'Gogle': did you mean Google" in answer.text


@pytest.mark.slow
def test_scored_times_are_the_published_ones_to_all_their_digits(tmp_path: Path) -> None:
    made = Lake.create(tmp_path / "lake")
    bundles = [ROOT / "published" / name / f"{name}.tar" for name in ("mlperf-training", "mlperf-rcp")]
    for bundle in bundles:
        assert not ingest(made, [bundle]).broken
    with (Path(__file__).parent / "published_times.csv").open(newline="", encoding="utf-8") as file:
        published = {row["submission"]: row["minutes"] for row in csv.DictReader(file)}
    rows = library.open(made.folder).results(submission=list(published)).to_dicts()
    digits = {name: len(minutes.partition(".")[2]) for name, minutes in published.items()}
    scored = {row["submission"]: f"{row['scored_s'] / 60:.{digits[row['submission']]}f}" for row in rows}
    assert scored == published
