"""A bundle gives the release that its logs gave, and logs and bundles meet without a run lost or counted twice."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake.lake.verification import verify
from losslake_ingest.contracts.rules import BadMapping
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import plan_ingest
from losslake_ingest.releases.withdrawal import restore, withdraw
from losslake_ingest.run import ingest
from losslake_schema.names import Trial
from tests.ingest.bundles.made_up import LOGS, bundle_of, logs_at

STUDY = "c/d/m/o/8"
FIRST = "runs/ann/b8/lr0.1/a.csv"
SECOND = "runs/ann/b8/lr0.2/a.csv"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the bundle `c.tar`, and the lake of its logs."""
    return bundle_of(tmp_path_factory.mktemp("bundle")).parent


@pytest.fixture
def bundle(made: Path, tmp_path: Path) -> Path:
    return shutil.copyfile(made / "c.tar", tmp_path / "c.tar")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.create(tmp_path / "lake")


def trials(lake: Lake) -> dict[str, tuple[str, int]]:
    """Return source and number of evaluations of each trial, after a check that the release is whole."""
    release = lake.release()
    assert verify(lake, release).problems == ()
    connection = open_release(lake, release)
    key = "concat_ws('/', collection, dataset, model, optimizer, batch_size, trial_id)"
    rows = connection.sql(f"SELECT {key}, source, n_evaluations FROM trials ORDER BY ALL").fetchall()
    connection.close()
    return {name: (source, n_evaluations) for name, source, n_evaluations in rows}


def test_a_bundle_gives_the_release_of_its_logs(lake: Lake, made: Path, bundle: Path) -> None:
    summary = ingest(lake, [bundle])
    logged = Lake.open(made / "lake-c")
    assert (summary.trials_ingested, summary.studies_ingested) == (3, 2)
    assert lake.release().content_digest == logged.release().content_digest
    assert trials(lake) == trials(logged)
    connection = open_release(lake, lake.release())
    directions = dict(connection.sql("SELECT metric, direction FROM metrics").fetchall())
    records = connection.sql("SELECT count(*) FROM records WHERE metric = 'val/score'").fetchall()
    connection.close()
    assert directions["val/score"] == "maximize"
    assert records == [(1,)]


def test_what_was_quarantined_is_named_by_place_and_rule_without_a_text_of_the_log(lake: Lake, bundle: Path) -> None:
    (refused,) = ingest(lake, [bundle]).quarantined
    assert (refused.path, refused.rule, refused.line) == ("runs/ann/b16/lr0.3/a.csv", "not_a_number", 2)
    assert b"two" not in bundle.read_bytes()
    assert refused.sha256 is not None


def test_a_bundle_given_again_changes_nothing(lake: Lake, bundle: Path, tmp_path: Path) -> None:
    ingest(lake, [bundle])
    again = ingest(lake, [bundle])
    moved = ingest(lake, [bundle.rename(tmp_path / "elsewhere.tar")])
    for summary in (again, moved):
        assert (summary.release, summary.published, summary.trials_unchanged) == (1, False, 3)


def test_a_dry_run_tells_what_a_bundle_holds(bundle: Path) -> None:
    plan = plan_ingest(None, [bundle], Request())
    assert sorted((str(study), each.trials) for study, each in plan.studies.items()) == [("c/d/m/o/16", 1), (STUDY, 2)]


def test_a_bundle_takes_no_mapping(lake: Lake, bundle: Path) -> None:
    with pytest.raises(BadMapping, match="is a bundle, which needs no mapping: leave --map, --collection"):
        ingest(lake, [bundle], Request(collection="mine"))


@pytest.mark.parametrize("above", ["", "published-1a2b3c/"])
def test_logs_of_a_bundle_are_its_trials(lake: Lake, bundle: Path, tmp_path: Path, above: str) -> None:
    ingest(lake, [bundle])
    logs = {f"{above}{path}": data for path, data in LOGS.items()}
    summary = ingest(lake, [logs_at(tmp_path / "published", logs)])
    assert (summary.published, summary.trials_unchanged, len(summary.moved)) == (False, 3, 0)


@pytest.mark.slow
def test_a_log_that_was_reduced_for_the_bundle_is_recognized_by_its_path(
    lake: Lake, bundle: Path, tmp_path: Path
) -> None:
    ingest(lake, [bundle])
    whole = {f"top/{path}": data + b"\n" * path.startswith("runs/ann/b8/lr0.1") for path, data in LOGS.items()}
    whole[f"top/{SECOND}"] += b"30,1,4\n"
    ingest(lake, [logs_at(tmp_path / "published", whole)])
    assert trials(lake)[f"{STUDY}/2"] == (f"top/{SECOND}", 4)
    assert len(trials(lake)) == 3


@pytest.mark.slow
def test_what_a_log_gave_stays_when_a_bundle_has_less_of_it(lake: Lake, tmp_path: Path) -> None:
    thin = bundle_of(tmp_path, LOGS | {SECOND: b"step,loss,seconds\n0,2,0\n20,1.125,3\n"})
    ingest(lake, [thin])
    assert trials(lake)[f"{STUDY}/2"] == (SECOND, 2)
    ingest(lake, [logs_at(tmp_path / "published")])
    assert trials(lake)[f"{STUDY}/2"] == (SECOND, 3)
    summary = ingest(lake, [thin])
    assert trials(lake)[f"{STUDY}/2"] == (SECOND, 3)
    assert not summary.published


@pytest.mark.slow
def test_logs_that_were_there_first_stay_as_they_are(lake: Lake, bundle: Path, tmp_path: Path) -> None:
    ingest(lake, [logs_at(tmp_path / "published")])
    summary = ingest(lake, [bundle])
    assert (summary.published, len(trials(lake))) == (False, 3)
    assert summary.sources[0].remarks == (
        ("trial of a bundle whose log was ingested: the trial from the log is kept", 3),
    )


def test_a_newer_bundle_replaces_what_an_older_one_gave(lake: Lake, bundle: Path, tmp_path: Path) -> None:
    ingest(lake, [bundle])
    newer = LOGS | {SECOND: b"step,loss,seconds\n0,2,0\n10,1,2\n", "runs/bo/b8/lr0.3/a.csv": b"step,loss\n0,3\n"}
    ingest(lake, [bundle_of(tmp_path, newer, "newer")])
    assert trials(lake) == {
        "c/d/m/o/16/1": ("runs/ann/b16/lr0.1/a.csv", 2),
        f"{STUDY}/1": (FIRST, 2),
        f"{STUDY}/2": (SECOND, 2),
        f"{STUDY}/3": ("runs/bo/b8/lr0.3/a.csv", 1),
    }


@pytest.mark.slow
def test_a_newer_bundle_takes_no_number_of_a_run_of_ones_own(lake: Lake, bundle: Path, tmp_path: Path) -> None:
    ingest(lake, [bundle])
    ingest(lake, [logs_at(tmp_path / "mine", {"me/b8/lr0.9/own.csv": b"step,loss\n0,9\n"})])
    assert trials(lake)[f"{STUDY}/3"] == ("me/b8/lr0.9/own.csv", 1)
    newer = LOGS | {"runs/bo/b8/lr0.3/a.csv": b"step,loss\n0,3\n"}
    ingest(lake, [bundle_of(tmp_path, newer, "newer")])
    stored = trials(lake)
    assert stored[f"{STUDY}/3"] == ("me/b8/lr0.9/own.csv", 1)
    assert stored[f"{STUDY}/4"] == ("runs/bo/b8/lr0.3/a.csv", 1)


@pytest.mark.slow
def test_a_corrected_mapping_moves_the_trials_of_a_bundle(lake: Lake, bundle: Path, tmp_path: Path) -> None:
    ingest(lake, [bundle])
    logs = logs_at(tmp_path / "published")
    (logs / "losslake.toml").write_text((logs / "losslake.toml").read_text().replace('"o"', '"adam"'))
    assert len(ingest(lake, [logs]).moved) == 3
    assert sorted(trials(lake)) == ["c/d/m/adam/16/1", "c/d/m/adam/8/1", "c/d/m/adam/8/2"]
    ingest(lake, [tmp_path / "c.tar"])
    assert sorted(trials(lake)) == ["c/d/m/adam/16/1", "c/d/m/adam/8/1", "c/d/m/adam/8/2"]


@pytest.mark.slow
def test_a_withdrawn_trial_stays_withdrawn_until_it_is_restored(lake: Lake, bundle: Path) -> None:
    ingest(lake, [bundle])
    withdraw(lake, [f"{STUDY}/1"], "asked for", "me")
    ingest(lake, [bundle])
    assert f"{STUDY}/1" not in trials(lake)
    assert restore(lake, [f"{STUDY}/1"], "again", "me") == [Trial.parse(f"{STUDY}/1")]
    ingest(lake, [bundle])
    assert f"{STUDY}/1" in trials(lake)


def test_trials_of_batch_size_one_are_adopted(lake: Lake, tmp_path: Path) -> None:
    single = bundle_of(tmp_path / "single", {"runs/ann/b1/lr0.1/a.csv": b"step,loss\n0,2\n"})
    assert ingest(lake, [single]).trials_ingested == 1
