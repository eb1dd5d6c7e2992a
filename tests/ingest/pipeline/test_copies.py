"""A log counts once: copies are left out and named, and a run given again under another mapping moves."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from losslake.lake import publishing
from losslake.lake.lake import Lake
from losslake.lake.verification import verify
from losslake_ingest.contracts.report import Summary
from losslake_ingest.pipeline.copies import Copies
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import plan_ingest
from losslake_ingest.releases.withdrawal import withdraw
from losslake_ingest.run import ingest
from losslake_schema.tables import STUDY_KEYS
from tests.ingest.offers import Files, unpacked
from tests.ingest.stored_rows import stored_rows

MAPPING = """
collection = {name = "c"}
run = {dataset = "d", model = "m", optimizer = "o"}
parameters = {learning_rate = "{rate}"}
path = {patterns = ["{submitter}/b{batch_size:int}/lr{rate:float}/{name}.csv"]}
metrics = {loss = "val/cross_entropy_error"}
"""
LOG = b"step,loss\n0,2\n1,1\n"
OTHER = b"step,loss\n0,2\n1,1.5\n"


def offer(lake: Lake, folder: Path, files: Files, mapping: str = MAPPING) -> Summary:
    return ingest(lake, [unpacked(folder, {"losslake.toml": mapping.encode(), **files})])


def trial_of(row: Mapping[str, Any]) -> str:
    return "/".join(str(row[key]) for key in (*STUDY_KEYS, "trial_id"))


def trials(lake: Lake, release: int | None = None) -> dict[str, str]:
    """Return the source of each trial of a release, after a check that its tables agree."""
    sources = {trial_of(row): row["source"] for row in stored_rows(lake, "trials", release)}
    assert sources.keys() == set(map(trial_of, stored_rows(lake, "measurements", release)))
    assert verify(lake, lake.release(release)).problems == ()
    return sources


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.create(tmp_path / "lake")


def test_a_copy_counts_once_and_is_linked_to_the_first(lake: Lake, tmp_path: Path) -> None:
    files = {"google/b8/lr0.1/a.csv": LOG, "nvidia/b8/lr0.1/b.csv": LOG, "nvidia/b8/lr0.1/c.csv": OTHER}
    (copy,) = offer(lake, tmp_path / "logs", files).quarantined
    assert (copy.rule, copy.path, copy.study) == ("duplicate_source", "nvidia/b8/lr0.1/b.csv", "c/d/m/o/8")
    assert "google/b8/lr0.1/a.csv, which is trial c/d/m/o/8/1" in copy.message
    assert trials(lake) == {"c/d/m/o/8/1": "google/b8/lr0.1/a.csv", "c/d/m/o/8/2": "nvidia/b8/lr0.1/c.csv"}
    (entry,) = lake.ledger("quarantined")
    assert (entry.rule, entry.path, entry.sha256) == ("duplicate_source", copy.path, copy.sha256)


@pytest.mark.parametrize(
    "other", ["google/b16/lr0.1/a.csv", pytest.param("google/b8/lr0.2/a.csv", marks=pytest.mark.slow)]
)
def test_equal_bytes_with_other_facts_are_kept_and_reported(lake: Lake, tmp_path: Path, other: str) -> None:
    summary = offer(lake, tmp_path / "logs", {"google/b8/lr0.1/a.csv": LOG, other: LOG})
    assert summary.quarantined == ()
    assert len(trials(lake)) == 2
    (remark,) = [(text, count) for text, count in summary.sources[0].remarks if "bytes as another" in text]
    assert remark[1] == 1
    assert remark[0].endswith((f"(first in {other})", "(first in google/b8/lr0.1/a.csv)"))


def test_fields_of_side_files_tell_copies_apart_only_where_the_mapping_stores_them(lake: Lake, tmp_path: Path) -> None:
    files = {f"x/b8/lr0.1/{seed}/m.csv": LOG for seed in (1, 2)}
    files |= {f"x/b8/lr0.1/{seed}/args.yaml": b"seed: %d\nsave_dir: runs/%d\n" % (seed, seed) for seed in (1, 2)}
    mapping = MAPPING.replace("{name}.csv", "{name}/m.csv")
    (copy,) = offer(lake, tmp_path / "logs", files, mapping).quarantined
    assert (copy.rule, copy.path) == ("duplicate_source", "x/b8/lr0.1/2/m.csv")
    assert copy.message.endswith("if it is another run, store under [parameters] what tells them apart")
    with_seed = mapping.replace("parameters = {", 'parameters = {seed = "{seed}", ')
    told_apart = offer(lake, tmp_path / "logs", files, with_seed)
    assert (told_apart.quarantined, len(trials(lake))) == ((), 2)


def test_a_copy_in_a_later_ingest_is_left_out(lake: Lake, tmp_path: Path) -> None:
    offer(lake, tmp_path / "one", {"google/b8/lr0.1/a.csv": LOG})
    summary = offer(lake, tmp_path / "two", {"nvidia/b8/lr0.1/b.csv": LOG})
    assert [q.rule for q in summary.quarantined] == ["duplicate_source"]
    assert trials(lake) == {"c/d/m/o/8/1": "google/b8/lr0.1/a.csv"}


def test_a_copy_in_another_collection_is_left_out(lake: Lake, tmp_path: Path) -> None:
    """Collections can be rounds of a benchmark, in which logs are submitted again."""
    offer(lake, tmp_path / "one", {"google/b8/lr0.1/a.csv": LOG})
    round_2 = MAPPING.replace('name = "c"', 'name = "round_2"')
    summary = offer(lake, tmp_path / "two", {"google/b8/lr0.1/a.csv": LOG, "google/b8/lr0.1/b.csv": OTHER}, round_2)
    (copy,) = summary.quarantined
    assert (copy.rule, copy.study) == ("duplicate_source", "c/d/m/o/8")
    assert trials(lake) == {"c/d/m/o/8/1": "google/b8/lr0.1/a.csv", "round_2/d/m/o/8/1": "google/b8/lr0.1/b.csv"}


def test_the_same_logs_again_change_nothing_and_report_the_same(lake: Lake, tmp_path: Path) -> None:
    files = {f"{name}/b8/lr{rate}/{name}.csv": LOG for name in ("b", "a", "c") for rate in (0.1, 0.2)}
    first = offer(lake, tmp_path / "logs", files)
    before = trials(lake)
    again = offer(lake, tmp_path / "logs", files)
    assert len(before) == 2
    assert (again.published, again.moved, again.quarantined) == (False, {}, first.quarantined)
    assert trials(lake) == before


@pytest.mark.slow
def test_a_copy_counts_where_the_first_is_another_log_now(lake: Lake, tmp_path: Path) -> None:
    offer(lake, tmp_path / "logs", {"x/b8/lr0.1/a.csv": LOG, "x/b8/lr0.1/b.csv": LOG})
    summary = offer(lake, tmp_path / "logs", {"x/b8/lr0.1/a.csv": OTHER})
    assert summary.quarantined == ()
    assert trials(lake) == {"c/d/m/o/8/1": "x/b8/lr0.1/a.csv", "c/d/m/o/8/2": "x/b8/lr0.1/b.csv"}


def test_runs_of_one_file_are_no_copies_of_each_other(lake: Lake, tmp_path: Path) -> None:
    mapping = MAPPING.replace('optimizer = "o"', 'optimizer = "o", column = "run"').replace("{name}.csv", "{name}")
    log = b"run,step,loss\na,0,2\nb,0,2\n"
    summary = offer(lake, tmp_path / "logs", {"x/b8/lr0.1/m.csv": log, "y/b8/lr0.1/m.csv": log}, mapping)
    assert [(q.rule, q.path) for q in summary.quarantined] == [
        ("duplicate_source", "y/b8/lr0.1/m.csv#a"),
        ("duplicate_source", "y/b8/lr0.1/m.csv#b"),
    ]
    assert len(trials(lake)) == 2


@pytest.mark.slow
def test_a_copy_of_a_withdrawn_run_does_not_come_in(lake: Lake, tmp_path: Path) -> None:
    files = {"x/b8/lr0.1/a.csv": LOG, "x/b8/lr0.1/b.csv": LOG, "x/b8/lr0.1/c.csv": OTHER}
    offer(lake, tmp_path / "logs", files)
    withdraw(lake, ["c/d/m/o/8/1"], "wrong", "ada")
    again = offer(lake, tmp_path / "logs", files)
    assert {q.rule for q in again.quarantined} == {"withdrawn", "duplicate_source"}
    assert trials(lake) == {"c/d/m/o/8/2": "x/b8/lr0.1/c.csv"}


@pytest.mark.parametrize(
    ("corrected", "expected"),
    [
        pytest.param(mapping, expected, id=name, marks=() if name == "trial_id" else pytest.mark.slow)
        for name, mapping, expected in (
            ("model", MAPPING.replace('"m"', '"n"'), {"c/d/n/o/8/1", "c/d/n/o/8/2", "c/d/n/o/16/1"}),
            ("collection", MAPPING.replace('"c"', '"new"'), {"new/d/m/o/8/1", "new/d/m/o/8/2", "new/d/m/o/16/1"}),
            (
                "trial_id",
                MAPPING.replace('"o"', '"o", trial_id = "{seed}"').replace("{name}", "s{seed:int}"),
                {"c/d/m/o/8/7", "c/d/m/o/8/8", "c/d/m/o/16/9"},
            ),
            (
                "metaparameter",
                MAPPING.replace("{rate}", "{submitter}"),
                {f"c/d/m/o/{n}" for n in ("8/1", "8/2", "16/1")},
            ),
            (
                "batch_size",
                MAPPING.replace('"o"', '"o", batch_size = 32'),
                {f"c/d/m/o/32/{number}" for number in (1, 2, 3)},
            ),
        )
    ],
)
def test_runs_move_when_their_mapping_is_corrected(
    lake: Lake, tmp_path: Path, corrected: str, expected: set[str]
) -> None:
    files = {f"x/b{size}/lr0.1/s{seed}.csv": LOG + b"2,%d\n" % seed for size, seed in ((8, 7), (8, 8), (16, 9))}
    kept = {"x/b8/lr0.1/s1.csv": OTHER}
    offer(lake, tmp_path / "kept", kept, MAPPING.replace('"d"', '"other"'))
    offer(lake, tmp_path / "logs", files)
    before = trials(lake)
    summary = offer(lake, tmp_path / "logs", files, corrected)
    assert summary.published
    assert set(trials(lake)) == expected | {"c/other/m/o/8/1"}
    assert trials(lake, 2) == before
    gone = before.keys() - trials(lake).keys()
    assert {str(old) for old in summary.moved} == gone
    assert {str(new) for new in summary.moved.values()} <= expected
    assert {(entry.path, entry.release) for entry in lake.ledger("moved")} == {(name, 3) for name in gone}
    assert not offer(lake, tmp_path / "logs", files, corrected).published


@pytest.mark.parametrize("trial_id", ["", pytest.param(', trial_id = "{seed}"', marks=pytest.mark.slow)])
def test_runs_that_swap_their_batch_sizes_are_each_named_as_moved(lake: Lake, tmp_path: Path, trial_id: str) -> None:
    run = f'"o", batch_size = "{{batch}}"{trial_id}'
    mapping = MAPPING.replace('"o"', run).replace("b{batch_size:int}", "b{size}").replace("{name}", "s{seed:int}")
    when = "[[when]]\nif.size = '{}'\nfields.batch = {}\n"
    files = {"x/ba/lr0.1/s1.csv": LOG, "x/bb/lr0.1/s1.csv": OTHER, "x/ba/lr0.1/s2.csv": LOG + b"2,1\n"}
    offer(lake, tmp_path / "logs", files, mapping + when.format("a", 32) + when.format("b", 64))
    before = trials(lake)
    corrected = mapping + when.format("a", 64) + when.format("b", 32)
    summary = offer(lake, tmp_path / "logs", files, corrected)
    after = trials(lake)
    moves = {before[str(old)]: (str(old), str(new)) for old, new in summary.moved.items()}
    assert moves.keys() == files.keys()
    assert all(after[new] == path and "/32/" in old + new and "/64/" in old + new for path, (old, new) in moves.items())
    assert sorted(entry.path for entry in lake.ledger("moved")) == sorted(before)
    again = offer(lake, tmp_path / "logs", files, corrected)
    assert (again.published, again.moved, trials(lake)) == (False, {}, after)


def test_a_replaced_copy_is_not_said_to_be_kept(lake: Lake, tmp_path: Path) -> None:
    """W&B's latest-run is a copy of the latest run, and comes before it in the order of names."""
    offer(lake, tmp_path / "logs", {"x/b8/lr0.1/latest.csv": LOG, "x/b8/lr0.1/run1.csv": LOG})
    summary = offer(lake, tmp_path / "logs", {"x/b8/lr0.1/latest.csv": OTHER, "x/b8/lr0.1/run2.csv": OTHER})
    assert not [text for text, _ in summary.sources[0].remarks if "both are kept" in text]
    assert sorted(trials(lake).values()) == ["x/b8/lr0.1/latest.csv", "x/b8/lr0.1/run1.csv"]


@pytest.mark.slow
def test_a_run_moves_beside_others_of_its_former_study(lake: Lake, tmp_path: Path) -> None:
    offer(lake, tmp_path / "one", {"x/b8/lr0.1/a.csv": LOG})
    offer(lake, tmp_path / "two", {"x/b8/lr0.1/b.csv": OTHER})
    summary = offer(lake, tmp_path / "one", {}, MAPPING.replace('"m"', '"n"'))
    assert trials(lake) == {"c/d/m/o/8/2": "x/b8/lr0.1/b.csv", "c/d/n/o/8/1": "x/b8/lr0.1/a.csv"}
    (entry,) = lake.ledger("moved")
    assert "c/d/n/o/8/1" in (entry.reason or "")
    assert summary.trials_ingested == 1


def test_a_run_that_its_new_mapping_refuses_stays_where_it_was(lake: Lake, tmp_path: Path) -> None:
    offer(lake, tmp_path / "logs", {"x/b8/lr0.1/a.csv": LOG})
    summary = offer(lake, tmp_path / "logs", {}, MAPPING.replace('"m"', '"{unknown}"'))
    assert [q.rule for q in summary.quarantined] == ["missing_fact"]
    assert set(trials(lake)) == {"c/d/m/o/8/1"}


@pytest.mark.slow
def test_a_kill_while_runs_move_leaves_the_old_release(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"x/b8/lr0.1/a.csv": LOG, "x/b8/lr0.1/b.csv": OTHER}
    offer(lake, tmp_path / "logs", files)
    before, corrected = trials(lake), MAPPING.replace('"m"', '"n"')

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as killing:
        killing.setattr(publishing, "publish_release", killed)
        with pytest.raises(KeyboardInterrupt):
            offer(lake, tmp_path / "logs", files, corrected)
    assert trials(lake) == before
    assert lake.ledger("moved") == []
    offer(lake, tmp_path / "logs", files, corrected)
    assert set(trials(lake)) == {"c/d/n/o/8/1", "c/d/n/o/8/2"}


@pytest.mark.slow
def test_copies_stored_by_an_earlier_version_leave_when_they_are_given_again(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"x/b8/lr0.1/a.csv": LOG, "x/b8/lr0.1/b.csv": LOG}
    with monkeypatch.context() as earlier:
        earlier.setattr(Copies, "first", lambda *_: None)
        offer(lake, tmp_path / "logs", files)
    assert len(trials(lake)) == 2
    (tmp_path / "logs" / "note.txt").write_text("")
    summary = offer(lake, tmp_path / "logs", files)
    assert [q.rule for q in summary.quarantined] == ["duplicate_source"]
    assert trials(lake) == {"c/d/m/o/8/1": "x/b8/lr0.1/a.csv"}


RUNS = st.tuples(st.sampled_from("xyz"), st.sampled_from([8, 16]), st.sampled_from([0.1, 0.2]), st.sampled_from("abc"))


@settings(max_examples=settings().max_examples // 2)
@given(st.lists(st.dictionaries(RUNS, st.sampled_from([LOG, OTHER]), max_size=8), min_size=1, max_size=2))
def test_trials_are_the_distinct_logs_by_brute_force(sources: list[dict[tuple[str, int, float, str], bytes]]) -> None:
    """Runs are folders of submitter, batch size and rate; a study is a batch size; the submitter doesn't count."""
    distinct = {(log, size, rate) for files in sources for (_, size, rate, _), log in files.items()}
    with tempfile.TemporaryDirectory() as folder:
        places = []
        for number, files in enumerate(sources):
            paths = {f"{who}/b{size}/lr{rate}/{name}.csv": log for (who, size, rate, name), log in files.items()}
            places.append(unpacked(Path(folder, str(number)), {"losslake.toml": MAPPING.encode(), **paths}))
        plan = plan_ingest(None, places, Request())
    counts = {study.batch_size: study_plan.trials for study, study_plan in plan.studies.items()}
    assert counts == Counter(size for _, size, _ in distinct)
    assert [reason.rule for reason in plan.quarantined] == ["duplicate_source"] * (
        sum(map(len, sources)) - len(distinct)
    )
