"""A withdrawn run is left out by its bytes and by its place, and no other run is."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.contracts.report import Summary
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import plan_ingest
from losslake_ingest.releases.withdrawal import restore, withdraw
from losslake_ingest.run import ingest
from tests.ingest.offers import unpacked
from tests.ingest.one_study import MAPPING, curves, log

SECOND = "c/d/m/o/8/2"


def runs(**values: list[float]) -> bytes:
    """Return a CSV with several runs."""
    rows = [f"{name},{step},{value}\n" for name, row in values.items() for step, value in enumerate(row)]
    return "".join(["seed,step,loss\n", *rows]).encode()


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    mapping = MAPPING.replace("batch_size = 8", 'batch_size = 8, column = "seed"')
    unpacked(tmp_path, {"map.toml": MAPPING.encode(), "runs.toml": mapping.encode()})
    return Lake.create(tmp_path / "lake")


def offer(lake: Lake, place: Path, mapping: str = "map.toml") -> Summary:
    """Return the summary of an ingest, after a check that a dry run gives the same reasons."""
    request = Request(mapping=lake.folder.parent / mapping)
    planned = plan_ingest(lake, [place], request)
    summary = ingest(lake, [place], request)
    assert planned.quarantined == list(summary.quarantined)
    return summary


def refused(summary: Summary) -> dict[str, str]:
    """Return the reasons of what an ingest left out as withdrawn, by path."""
    assert {each.rule for each in summary.quarantined} <= {"withdrawn"}
    return {each.path: each.message for each in summary.quarantined}


@pytest.mark.parametrize("folder", [pytest.param("logs", marks=pytest.mark.slow), "moved"])
def test_a_withdrawn_run_of_a_file_leaves_its_neighbours(lake: Lake, tmp_path: Path, folder: str) -> None:
    place = unpacked(tmp_path / "logs", {"m.csv": runs(a=[3, 1], b=[3, 2], c=[3, 3])})
    offer(lake, place, "runs.toml")
    withdraw(lake, [SECOND], "wrong", "ada")
    summary = offer(lake, place.rename(tmp_path / folder), "runs.toml")
    assert refused(summary).keys() == {"m.csv#b"}
    assert not summary.published
    assert curves(lake) == {1: [3, 1], 3: [3, 3]}


def test_a_withdrawn_run_stays_out_when_its_file_grows_until_it_is_restored(lake: Lake, tmp_path: Path) -> None:
    place = unpacked(tmp_path / "logs", {"m.csv": runs(a=[3, 1], b=[3, 2])})
    offer(lake, place, "runs.toml")
    withdraw(lake, [SECOND], "wrong", "ada")
    for last in (4, 5):
        unpacked(place, {"m.csv": runs(a=[3, 1, last], b=[3, 2, last], c=[3, 3])})
        assert refused(offer(lake, place, "runs.toml")).keys() == {"m.csv#b"}
        assert curves(lake) == {1: [3, 1, last], 3: [3, 3]}
    restore(lake, [SECOND], "right after all", "ada")
    assert not offer(lake, place, "runs.toml").quarantined
    assert curves(lake) == {1: [3, 1, 5], 2: [3, 2, 5], 3: [3, 3]}


def test_a_withdrawn_log_that_grew_stays_out_and_the_reason_says_so(lake: Lake, tmp_path: Path) -> None:
    place = unpacked(tmp_path / "logs", {"a.csv": log(3, 1), "b.csv": log(3, 2)})
    offer(lake, place)
    withdraw(lake, [SECOND], "wrong", "ada")
    (place / "b.csv").write_bytes(log(3, 2, 1))
    for path in (place, place / "b.csv"):
        reasons = refused(offer(lake, path))
        assert "its bytes are new, but the run at its place was withdrawn (wrong)" in reasons["b.csv"]
        assert f"losslake withdraw {SECOND} --undo" in reasons["b.csv"]
        assert curves(lake) == {1: [3, 1]}


def test_another_log_with_other_bytes_and_place_is_accepted(lake: Lake, tmp_path: Path) -> None:
    offer(lake, unpacked(tmp_path / "logs", {"a.csv": log(3, 1), "b.csv": log(3, 2)}))
    withdraw(lake, [SECOND], "wrong", "ada")
    assert not offer(lake, unpacked(tmp_path / "more", {"b.csv": log(3, 2, 1)})).quarantined
    assert curves(lake) == {1: [3, 1], 3: [3, 2, 1]}


def test_a_rerun_may_have_the_number_of_a_withdrawn_trial(lake: Lake, tmp_path: Path) -> None:
    numbered = MAPPING.replace("batch_size = 8", 'batch_size = 8, trial_id = "{seed}"')
    (tmp_path / "seeds.toml").write_text(f'{numbered}path = {{patterns = ["{{round}}/seed{{seed:int}}.csv"]}}\n')
    place = unpacked(tmp_path / "logs", {"1/seed1.csv": log(3, 1), "1/seed2.csv": log(3, 2)})
    offer(lake, place, "seeds.toml")
    withdraw(lake, [SECOND], "wrong", "ada")
    for last in (4, 5):
        unpacked(place, {"2/seed2.csv": log(2, last)})
        offer(lake, place, "seeds.toml")
        assert curves(lake) == {1: [3, 1], 2: [2, last]}


@pytest.mark.parametrize("rest", ["a.csv", pytest.param("b.csv", marks=pytest.mark.slow)])
def test_numbers_of_a_restored_study_stay_with_their_places(lake: Lake, tmp_path: Path, rest: str) -> None:
    other = unpacked(tmp_path / "other", {"losslake.toml": MAPPING.replace('"d"', '"e"').encode(), "a.csv": log(1)})
    ingest(lake, [other])
    place = unpacked(tmp_path / "logs", {"a.csv": log(3, 1), "b.csv": log(3, 2)})
    offer(lake, place)
    withdraw(lake, ["c/d/m/o/8"], "wrong", "ada")
    restore(lake, ["c/d/m/o/8"], "right after all", "ada")
    offer(lake, place / rest)
    offer(lake, unpacked(tmp_path / "more", {"x.csv": log(9)}))
    offer(lake, place)
    rows = lake.table("measurements").scan().to_arrow().to_pylist()
    last = {row["trial_id"]: row["value"] for row in rows if row["dataset"] == "d" and row["step"] == 1}
    assert last == {1: 1, 2: 2}


def test_a_withdrawal_names_copies_and_what_stays_with_other_facts(lake: Lake, tmp_path: Path) -> None:
    numbered = (
        f'{MAPPING}parameters = {{learning_rate = "{{rate}}"}}\npath = {{patterns = ["lr{{rate}}/{{name}}.csv"]}}\n'
    )
    (tmp_path / "rates.toml").write_text(numbered)
    (tmp_path / "round_2.toml").write_text(numbered.replace('"c"', '"round_2"'))
    logs = unpacked(tmp_path / "logs", {"lr1/a.csv": log(3, 1), "lr1/b.csv": log(3, 1), "lr2/c.csv": log(3, 1)})
    again = unpacked(tmp_path / "again", {"lr1/d.csv": log(3, 1), "lr2/e.csv": log(3, 2)})
    offer(lake, logs, "rates.toml")
    offer(lake, again, "round_2.toml")
    for dry_run in (True, False):
        withdrawal = withdraw(lake, ["c/d/m/o/8/1"], "wrong", "ada", dry_run)
        assert withdrawal.copies == [(str(again), "lr1/d.csv"), (str(logs), "lr1/b.csv")]
        assert [str(trial) for trial in withdrawal.remaining] == [SECOND]
    (logs / "lr1/a.csv").unlink()
    assert refused(offer(lake, logs, "rates.toml")).keys() == {"lr1/b.csv"}
    assert lake.release().n_trials == 2
    assert not offer(lake, again, "round_2.toml").quarantined
    assert lake.release().n_trials == 3


def test_a_stored_trial_with_the_bytes_of_a_withdrawn_one_is_not_reported(lake: Lake, tmp_path: Path) -> None:
    rates = 'parameters = {learning_rate = "{rate}"}\npath = {patterns = ["lr{rate}.csv"]}\n'
    (tmp_path / "rates.toml").write_text(MAPPING + rates)
    place = unpacked(tmp_path / "logs", {"lr1.csv": log(3, 1), "lr2.csv": log(3, 1)})
    offer(lake, place, "rates.toml")
    withdraw(lake, ["c/d/m/o/8/1"], "wrong", "ada")
    assert refused(offer(lake, place, "rates.toml")).keys() == {"lr1.csv"}
    assert curves(lake) == {2: [3, 1]}
