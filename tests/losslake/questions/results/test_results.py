"""MLPerf's results equal a plain reading of raw log lines, and odd logs are said, never guessed."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from losslake.lake.lake import Lake
from losslake.questions.release.errors import BadParameter, UnknownName
from losslake.questions.release.view import ReleaseView
from losslake.questions.results.results import FACETS, QUESTION, ResultsParameters
from losslake_ingest.run import ingest
from tests.ingest.offers import unpacked
from tests.losslake.questions.results.raw_logs import (
    Files,
    logs_in,
    run_of_now,
    run_of_v0_5,
    run_of_v0_6,
    score,
    with_mapping,
)

NOW = 1_760_000_000_000
NVIDIA = "training_results_v5.1/NVIDIA/results/gb200_n128/llama31_8b"
AGAIN = "training_results_v5.1/Dell/results/gb200_n128/llama31_8b"
RETINANET = "training_results_v5.0/Quanta/results/d54/retinanet"
UNET = "training_results_v3.1/NVIDIA/results/dgx/unet3d"
NCF = "training_results_v0.5/v0.5.0/nvidia/submission/results/dgx1_ngc18.11_pytorch/ncf"
RESNET = "training_results_v0.6/Google/results/tpu-v3-32/resnet"
TOO_FEW = "training_results_v5.0/Acme/results/small/retinanet"
BACKWARD = "training_results_v5.0/Acme/results/backward/retinanet"
MISSED = "training_results_v5.0/Acme/results/missed/retinanet"
REFERENCES = {
    f"llama_ref_{size}": {"Benchmark": "llama31_8b", "BS": size, "Hyperparams": {}, "samples to converge": runs}
    for size, runs in ((32, [170_000 + 100 * n for n in range(20)]), (128, [250_000 + 100 * n for n in range(20)]))
}


def of_llama(n: int, rng: random.Random, stop: str | None = "success") -> bytes:
    start = NOW + n * 10_000_000 + n  # runs with equal curves at equal times would be one
    points = [(96_000 + 12_000 * k, 3.5 if k < 7 else 3.29) for k in range(8)]
    return run_of_now("llama31_8b", 32, start, start + rng.randrange(300_000, 400_000), points, status=stop)


def of_retinanet(n: int, seconds: float, status: str = "success") -> bytes:
    start = NOW + n * 10_000_000
    points = [(1, 0.2), (2, 0.35 if status == "success" else 0.3)]
    return run_of_now("retinanet", 256, start, start + round(seconds * 1000), points, "epoch_num", status)


def of_unet(n: int, rng: random.Random) -> bytes:
    start, is_success = NOW + n * 10_000_000, n % 13 != 5
    value, status = (0.91, "success") if is_success else (0.9, "aborted")
    points = [(168 * rng.randrange(1800, 2200), value)]
    return run_of_now("unet3d", 56, start, start + rng.randrange(60_000, 90_000), points, "epoch_num", status)


def made_up_logs() -> Files:
    rng = random.Random(70)
    files = {f"{NVIDIA}/result_{n}.txt": of_llama(n, rng, "aborted" if n == 4 else "success") for n in range(10)}
    files |= {f"{AGAIN}/result_{n}.txt": files[f"{NVIDIA}/result_{n}.txt"] for n in range(10)}
    files |= {f"{RETINANET}/result_{n}.txt": of_retinanet(n, 600 + rng.random() * 90) for n in range(5)}
    files |= {f"{TOO_FEW}/result_{n}.txt": of_retinanet(n, 700 + rng.random() * 90) for n in range(4)}
    files |= {f"{BACKWARD}/result_{n}.txt": of_retinanet(n, 500 if n else -3) for n in range(5)}
    files |= {f"{MISSED}/result_{n}.txt": of_retinanet(n, 800 + n, "aborted" if n < 2 else "success") for n in range(5)}
    files |= {f"{UNET}/result_{n}.txt": of_unet(n, rng) for n in range(40)}
    for n in range(100):
        start = f"15416350{n:02d}.{rng.randrange(10**9):09d}"
        stop = f"15416351{n:02d}.{rng.randrange(10**6):06d}"
        files[f"{NCF}/result_{n}.txt"] = run_of_v0_5(start, stop, 10 + n % 7, n % 3 != 1)
    for n in range(5):
        stop = f"1560{n}00900.{rng.randrange(10**6):06d}"
        files[f"{RESNET}/result_{n}.txt"] = run_of_v0_6(4096, f"1560{n}00000.141025", stop, 60 + n)
    return files


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(tmp_path_factory.mktemp("logs"), with_mapping(made_up_logs()))


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> ReleaseView:
    lake = Lake.create(tmp_path_factory.mktemp("results") / "lake")
    ingest(lake, [folder])
    references: Files = {"training_5.1.0/rcps_llama31_8b.json": json.dumps(REFERENCES).encode()}
    ingest(lake, [unpacked(tmp_path_factory.mktemp("rcps"), with_mapping(references, "mlperf-rcp"))])
    return ReleaseView.open(lake, lake.release())


def results(view: ReleaseView, **parameters: Any) -> tuple[list[dict[str, Any]], Mapping[str, Any]]:
    answer = QUESTION.answer(view, ResultsParameters.model_validate(parameters))
    facts = {**answer.facts, "total": answer.total, "next_cursor": answer.next_cursor}
    return answer.table().to_pylist(), facts


def of(rows: list[dict[str, Any]], path: str) -> dict[str, Any]:
    parts = path.split("/")
    (row,) = (row for row in rows if row["system"] == parts[-2] and row["organisation"].casefold() in path.casefold())
    return row


@pytest.mark.parametrize("path", [NVIDIA, AGAIN, RETINANET, UNET, NCF, RESNET, TOO_FEW, BACKWARD, MISSED])
def test_times_equal_a_plain_reading_of_the_log_lines(view: ReleaseView, folder: Path, path: str) -> None:
    logs = logs_in(folder / path)
    row = of(results(view)[0], path)
    time, run_times = score(row["benchmark"], logs)
    assert (row["time_s"], row["run_times_s"], row["n_runs"]) == (time, run_times, len(logs))
    assert (row["time_reason"] is None) == (time is not None)
    assert (row["fastest_s"], row["slowest_s"]) == (run_times[0], run_times[-1])
    assert len(row["trials"]) == len(row["logs"]) == len(logs)


def test_no_time_has_a_reason(view: ReleaseView) -> None:
    rows, facts = results(view)
    reasons = {path: of(rows, path)["time_reason"] for path in (TOO_FEW, BACKWARD, MISSED)}
    assert reasons == {
        TOO_FEW: "4 of the 5 runs that the rules require are stored",
        BACKWARD: "1 run lacks the time of run_start or of run_stop, or it falls",
        MISSED: "2 of the 5 runs did not reach the target, and at most 1 may",
    }
    assert of(rows, TOO_FEW)["flags"] == ["fewer_runs"]
    assert of(rows, MISSED)["flags"] == ["not_reached"]
    assert "3 submissions without time_s: time_reason says why" in facts["left_out"]


def test_a_run_that_missed_the_target_counts_as_the_slowest(view: ReleaseView) -> None:
    row = of(results(view)[0], NVIDIA)
    assert (row["n_runs"], row["n_not_reached"], row["n_required"]) == (10, 1, 10)
    assert row["time_s"] == pytest.approx(sum(row["run_times_s"][1:]) / 8, rel=1e-12)


def test_logs_that_were_submitted_again_are_a_submission_of_their_own(view: ReleaseView) -> None:
    first, again = sorted((of(results(view)[0], path) for path in (NVIDIA, AGAIN)), key=lambda row: row["flags"])
    assert (first["flags"], again["flags"]) == ([], ["copy"])
    assert (first["also_in"], again["also_in"]) == ([again["submission"]], [first["submission"]])
    assert first["run_times_s"] == again["run_times_s"]
    assert sorted(first["trials"]) == sorted(again["trials"])
    assert not set(first["logs"]) & set(again["logs"])


def test_convergence_is_checked_by_the_reference_points_of_the_round(view: ReleaseView) -> None:
    rows, _ = results(view)
    row = of(rows, NVIDIA)
    # The last evaluation, at 180,000 samples, in steps of 32.
    assert (row["examples"], row["rcp"], row["rcp_ground"], row["rcp_by"]) == (
        180_000,
        "pass",
        "found",
        "training_5.1.0",
    )
    assert row["rcp_factor"] == 1
    other = of(rows, RETINANET)
    assert (other["rcp"], other["rcp_ground"], other["rcp_by"]) == (None, "no_reference", None)
    assert "round 5.0" in other["rcp_in_words"]
    assert other["epochs"] == pytest.approx(2, rel=1e-3)


def test_facets_count_with_the_filters_of_the_others(view: ReleaseView) -> None:
    every, facts = results(view)
    of_round, filtered = results(view, round=["5.0"], organisation=["Acme"])
    assert {row["round"] for row in of_round} == {"5.0"}
    for facet in FACETS:
        wanted = {name: value for name, value in (("round", "5.0"), ("organisation", "Acme")) if name != facet}
        kept = [row for row in every if all(row[name] == value for name, value in wanted.items())]
        expected = Counter(each for row in kept for each in (row["flags"] if facet == "flag" else [row[facet]]))
        assert {e["value"]: e["n"] for e in filtered["facets"] if e["facet"] == facet} == expected
    assert sum(e["n"] for e in facts["facets"] if e["facet"] == "suite") == len(every) == facts["total"]


def test_values_of_a_facet_are_alternatives_and_unknown_is_one(view: ReleaseView) -> None:
    assert {row["round"] for row in results(view, round=["0.5", "0.6"])[0]} == {"0.5", "0.6"}
    assert {row["round"] for row in results(view, division=["unknown"])[0]} == {"0.5"}
    assert {row["system"] for row in results(view, q="quanta RETINANET")[0]} == {"d54"}
    assert all(row["flags"] for row in results(view, flagged="only")[0])
    assert not any(row["flags"] for row in results(view, flagged="exclude")[0])


def test_rows_are_sorted_with_null_last_either_way(view: ReleaseView) -> None:
    for sort in ("time_s", "-time_s"):
        times = [row["time_s"] for row in results(view, sort=sort)[0]]
        known = [time for time in times if time is not None]
        assert times == sorted(known, reverse=sort.startswith("-")) + [None] * (len(times) - len(known))


def test_pages_give_every_row_once(view: ReleaseView) -> None:
    whole, _ = results(view, sort="-accelerators,time_s")
    found: list[dict[str, Any]] = []
    cursor = None
    for _ in range(10):
        page, facts = results(view, sort="-accelerators,time_s", limit=4, cursor=cursor)
        assert facts["total"] == len(whole)
        found += page
        cursor = facts["next_cursor"]
        if cursor is None:
            break
    assert found == whole
    with pytest.raises(BadParameter, match="another list"):
        results(view, limit=4, cursor=results(view, sort="time_s", limit=4)[1]["next_cursor"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"round": ["5.2"]}, "round"), ({"organisation": ["Nvida"]}, "NVIDIA"), ({"submission": ["no"]}, "submission"),
        ({"sort": "trials"}, "can't be sorted by 'trials'"), ({"sort": "speed"}, "no column 'speed'"),
        ({"cursor": "x"}, "cursor"), ({"workload": ["a/b/c/d"]}, "a/b/c/d"),
    ],
)  # fmt: skip
def test_an_unknown_name_is_refused(view: ReleaseView, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises((BadParameter, UnknownName), match=message):
        results(view, **parameters)


def test_comparisons_across_hardware_are_said(view: ReleaseView) -> None:
    warning = "times on other accelerators, or on another number of them, compare hardware, not algorithms"
    assert warning in results(view)[1]["warnings"]
    assert results(view, submission=[results(view)[0][0]["submission"]])[1]["warnings"] == []
