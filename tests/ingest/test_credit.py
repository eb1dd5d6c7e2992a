"""Contributors stay with their trials through whatever is done to a lake, and a lake without any is as it was."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.index.maintenance import clean
from losslake.index.serving import open_release
from losslake.lake.data_files import read_small_table
from losslake.lake.lake import Lake
from losslake.lake.publishing import content_digest
from losslake.lake.retention import RetentionPolicy
from losslake.lake.verification import verify
from losslake_ingest.bundles import writing
from losslake_ingest.bundles.writing import write_bundle
from losslake_ingest.contracts.rules import BadMapping, SourceBroken
from losslake_ingest.pipeline import gather
from losslake_ingest.pipeline.credit import contributor_rows
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.pipeline.trial_rows import moved_rows
from losslake_ingest.releases.compaction import compact
from losslake_ingest.releases.rewriting import adopt_moved
from losslake_ingest.releases.withdrawal import withdraw
from losslake_ingest.run import ingest
from losslake_schema.contributors import Contributor
from losslake_schema.names import Study, Trial, Workload
from losslake_schema.tables import CONTRIBUTORS, TABLES
from tests.ingest.one_study import MAPPING, log

ANN = Contributor("Ann Lee", "0000-0002-1825-0097")
BOB = Contributor("Bob", None, "software")
STUDY = Study(Workload("c", "d", "m", "o"), 8)
CREDIT = """
[[contributor]]
name = "Ann Lee"
orcid = "https://orcid.org/0000-0002-1825-0097"
role = "data collection"
"""


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.create(tmp_path / "lake")


def logs_at(folder: Path, mapping: str = MAPPING, **logs: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "losslake.toml").write_text(mapping)
    for name, text in logs.items():
        (folder / f"{name}.csv").write_bytes(text)
    return folder


def credit(lake: Lake, release: int | None = None) -> set[tuple[int, str, str, str]]:
    """Return trial, name, ORCID iD and role, after a check that files, SQL and the digest of a release agree."""
    found = lake.release(release)
    assert verify(lake, found).problems == ()
    files = lake.files(found)
    rows = read_small_table(lake.store, files, "contributors").to_pylist()
    tables = {name: read_small_table(lake.store, files, name) for name in (*TABLES, "contributors") if name in SMALL}
    assert content_digest(tables) == found.content_digest
    with open_release(lake, found) as connection:
        by_sql = connection.sql("SELECT * FROM contributors").to_arrow_table().to_pylist()
    assert sorted(map(str, by_sql)) == sorted(map(str, rows))
    return {(row["trial_id"], row["name"], row["orcid"], row["role"]) for row in rows}


SMALL = ("collections", "studies", "trials", "metrics", "goals", "contributors")
OF_ANN = "Ann Lee", "0000-0002-1825-0097", "data collection"
OF_BOB = "Bob", "", "software"


def test_a_mapping_credits_the_trials_of_its_logs(lake: Lake, tmp_path: Path) -> None:
    ingest(lake, [logs_at(tmp_path / "logs", MAPPING + CREDIT, a=log(0.5, 0.4), b=log(0.5, 0.3))])
    assert credit(lake) == {(1, *OF_ANN), (2, *OF_ANN)}


def test_conditions_credit_some_trials(lake: Lake, tmp_path: Path) -> None:
    condition = """
[path]
patterns = ["{who}.csv"]
[[when]]
if = {who = "b"}
[[when.contributor]]
name = "Bob"
role = "software"
"""
    ingest(lake, [logs_at(tmp_path / "logs", MAPPING + CREDIT + condition, a=log(0.5), b=log(0.4))])
    assert credit(lake) == {(1, *OF_ANN), (2, *OF_ANN), (2, *OF_BOB)}


def test_a_request_credits_beside_the_mapping(lake: Lake, tmp_path: Path) -> None:
    logs = logs_at(tmp_path / "logs", MAPPING + CREDIT, a=log(0.5))
    ingest(lake, [logs], Request(contributors=(replace(BOB, contribution="0198-x"),)))
    assert credit(lake) == {(1, *OF_ANN), (1, *OF_BOB)}
    (row,) = (row for row in rows_of(lake) if row["name"] == "Bob")
    assert row["contribution"] == "0198-x"


def rows_of(lake: Lake) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = read_small_table(lake.store, lake.files(lake.release()), "contributors").to_pylist()
    return rows


def test_a_lake_without_contributors_has_neither_table_nor_file(lake: Lake, tmp_path: Path) -> None:
    ingest(lake, [logs_at(tmp_path / "logs", a=log(0.5))])
    assert credit(lake) == set()
    assert set(lake.release().snapshots) == set(TABLES) == set(lake.table_versions())
    assert {file.table for file in lake.files(lake.release())} == set(TABLES)


def test_contributors_are_in_the_digest_only_where_there_are_any(lake: Lake, tmp_path: Path) -> None:
    logs = logs_at(tmp_path / "logs", a=log(0.5))
    ingest(lake, [logs])
    (logs / "losslake.toml").write_text(MAPPING + CREDIT)
    ingest(lake, [logs])
    first, second = lake.release(1), lake.release(2)
    assert first.content_digest != second.content_digest
    assert credit(lake, 1) == set()
    tables = {name: read_small_table(lake.store, lake.files(first), name) for name in SMALL}
    digests = sorted((str(Study.of(row)), row["content_digest"]) for row in tables["studies"].to_pylist())
    others = {name: tables[name].to_pylist() for name in ("collections", "metrics", "goals")}
    others["goals"] = [
        {k: v for k, v in goal.items() if (k, v) != ("comparator", "strict")} for goal in others["goals"]
    ]
    as_before = hashlib.sha256(json.dumps([digests, others], sort_keys=True).encode()).hexdigest()
    assert first.content_digest == as_before


def test_credit_can_be_added_corrected_and_is_not_lost_by_silence(lake: Lake, tmp_path: Path) -> None:
    logs = logs_at(tmp_path / "logs", a=log(0.5))
    for mapping, expected in [
        (MAPPING, set()),
        (MAPPING + CREDIT.replace("Ann Lee", "Anne Lee"), {(1, "Anne Lee", *OF_ANN[1:])}),
        (MAPPING + CREDIT, {(1, *OF_ANN)}),
        (MAPPING, {(1, *OF_ANN)}),
    ]:
        (logs / "losslake.toml").write_text(mapping)
        ingest(lake, [logs])
        assert credit(lake) == expected
    assert lake.release().number == 3
    assert credit(lake, 2) == {(1, "Anne Lee", *OF_ANN[1:])}


def test_the_same_offer_again_changes_nothing(lake: Lake, tmp_path: Path) -> None:
    logs = logs_at(tmp_path / "logs", MAPPING + CREDIT, a=log(0.5))
    assert [ingest(lake, [logs]).published for _ in range(2)] == [True, False]


def test_single_files_are_read_again_for_their_contributors(lake: Lake, tmp_path: Path) -> None:
    logs = logs_at(tmp_path / "logs", MAPPING + CREDIT, a=log(0.5))
    for contributors in ((), (BOB,), ()):
        ingest(lake, [logs / "a.csv"], Request(contributors=contributors))
    assert credit(lake) == {(1, *OF_ANN)}


def test_credit_survives_changes_of_its_and_of_other_trials(lake: Lake, tmp_path: Path) -> None:
    logs = logs_at(tmp_path / "logs", a=log(0.5), b=log(0.4))
    ingest(lake, [logs / "a.csv"], Request(contributors=(ANN,)))
    ingest(lake, [logs / "b.csv"], Request(contributors=(BOB,)))
    expected = {(1, *OF_ANN), (2, *OF_BOB)}
    assert credit(lake) == expected
    (logs / "a.csv").write_bytes(log(0.5, 0.4, 0.3))
    ingest(lake, [logs / "a.csv"])
    ingest(lake, [logs_at(tmp_path / "others", MAPPING.replace('"m"', '"n"'), a=log(0.7))])
    assert credit(lake) == expected
    withdraw(lake, [f"{STUDY}/2"], "wrong", "me")
    assert credit(lake) == {(1, *OF_ANN)}
    withdraw(lake, [str(STUDY)], "wrong", "me")
    assert credit(lake) == set()
    assert credit(lake, 2) == expected
    ingest(
        lake, [logs_at(tmp_path / "others", MAPPING.replace('"m"', '"n"'), c=log(0.8))], Request(contributors=(BOB,))
    )
    assert credit(lake) == {(1, *OF_BOB), (2, *OF_BOB)}


def test_credit_goes_with_a_trial_that_moves(lake: Lake, tmp_path: Path) -> None:
    logs = logs_at(tmp_path / "logs", a=log(0.5), b=log(0.4))
    ingest(lake, [logs], Request(contributors=(ANN,)))
    (logs / "losslake.toml").write_text(MAPPING.replace("batch_size = 8", "batch_size = 16"))
    summary = ingest(lake, [logs])
    assert len(summary.moved) == 2
    assert {row["batch_size"] for row in rows_of(lake)} == {16}
    assert credit(lake) == {(1, *OF_ANN), (2, *OF_ANN)}


def test_credit_survives_compaction_maintenance_and_a_move_of_the_lake(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gather, "LARGEST_PENDING", 0)
    logs = {f"a{number}": log(0.5, number / 10) for number in range(1, 8)}
    ingest(lake, [logs_at(tmp_path / "logs", MAPPING + CREDIT, **logs)])
    expected = {(number, *OF_ANN) for number in range(1, 8)}
    assert credit(lake) == expected
    assert compact(lake).release == 2
    assert credit(lake) == expected
    clean_now(lake)
    assert credit(lake) == expected
    adopted = adopt_moved(lake.folder.rename(tmp_path / "elsewhere"))
    assert credit(adopted) == credit(adopted, 1) == expected
    ingest(adopted, [logs_at(tmp_path / "more", MAPPING + CREDIT, z=log(0.9))])
    assert credit(adopted) == expected | {(8, *OF_ANN)}


def clean_now(lake: Lake) -> None:
    clean(lake, RetentionPolicy(datetime.now(UTC) + timedelta(seconds=1)))


def bundled(lake: Lake, path: Path) -> Path:
    write_bundle(lake, lake.release(), path, "a source")
    return path


def test_a_bundle_carries_contributors_and_is_as_it_was_without_any(lake: Lake, tmp_path: Path) -> None:
    logs = logs_at(tmp_path / "logs", a=log(0.5), b=log(0.4))
    ingest(lake, [logs])
    before = bundled(lake, tmp_path / "without.tar").read_bytes()
    assert b"contributors" not in before
    ingest(lake, [logs / "a.csv"], Request(contributors=(ANN, BOB)))
    bundle = bundled(lake, tmp_path / "with.tar")
    other = Lake.create(tmp_path / "other")
    ingest(other, [bundle])
    assert credit(other) == {(1, *OF_ANN), (1, *OF_BOB)}
    assert other.release().content_digest == lake.release().content_digest
    assert not ingest(other, [bundle]).published
    ingest(other, [bundle], Request(contributors=(replace(BOB, role="validation"),)))
    assert (2, "Bob", "", "validation") in credit(other)


@pytest.fixture(scope="module")
def credited(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Return a lake of a trial with a contributor, to be read only."""
    folder = tmp_path_factory.mktemp("credited")
    lake = Lake.create(folder / "lake")
    ingest(lake, [logs_at(folder / "logs", a=log(0.5))], Request(contributors=(ANN,)))
    return lake


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"orcid": "0000-0002-1825-0098"}, "mistyped"),
        ({"name": "a\u202eb"}, "printable"),
        ({"role": "king"}, "no role"),
        ({"trial_id": 9}, "doesn't hold"),
        ({"name": None}, "printable text"),
    ],
)
def test_a_bundle_with_invalid_contributors_is_refused(
    credited: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, object], message: str
) -> None:
    def altered(store: object, files: Sequence[object], name: str) -> pa.Table:
        table = read_small_table(store, files, name)  # type: ignore[arg-type]
        return table if name != "contributors" else pa.Table.from_pylist([table.to_pylist()[0] | change], CONTRIBUTORS)

    monkeypatch.setattr(writing, "read_small_table", altered)
    bundle = bundled(credited, tmp_path / "bad.tar")
    other = Lake.create(tmp_path / "other")
    summary = ingest_error(other, bundle)
    assert message in summary


def ingest_error(lake: Lake, bundle: Path) -> str:
    with pytest.raises(SourceBroken) as error:
        ingest(lake, [bundle])
    return str(error.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('name = "Ann"\norcid = "0000-0002-1825-0098"', "mistyped"),
        ('name = "Ann"\norcid = "<b>"', "isn't like"),
        ('name = "Ann"\nrole = "king"', "there is no role 'king'"),
        ('name = ""', "no letter"),
        ('name = "Ann"\nemail = "a@b"', "contributor"),
        ('role = "software"', "name"),
    ],
)
def test_a_mapping_with_an_invalid_contributor_is_refused(lake: Lake, tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(BadMapping, match=message) as error:
        ingest(lake, [logs_at(tmp_path / "logs", f"{MAPPING}\n[[contributor]]\n{line}\n", a=log(0.5))])
    assert "\n" not in str(error.value)


def _stored_row(trial: Trial, contributor: Contributor) -> dict[str, object]:
    facts = {name: value or "" for name, value in vars(contributor).items()}
    return {**trial.study.key(), "trial_id": trial.trial_id, **facts}


trials = st.builds(Trial, st.just(STUDY) | st.just(Study(STUDY.workload, 16)), st.integers(1, 3))
contributors = st.lists(st.sampled_from([ANN, BOB, replace(ANN, role="software")]), min_size=1, max_size=3)


@given(
    st.dictionaries(trials, contributors),
    st.dictionaries(trials, contributors),
    st.dictionaries(trials.map(lambda trial: trial.study), contributors),
    st.sets(trials),
    st.dictionaries(trials, trials, max_size=3),
)
def test_rows_are_those_of_a_plain_computation(
    stored: dict[Trial, list[Contributor]],
    new: dict[Trial, list[Contributor]],
    studies: dict[Study, list[Contributor]],
    existing: set[Trial],
    moved: dict[Trial, Trial],
) -> None:
    expected: dict[Trial, set[Contributor]] = {}
    for trial, many in stored.items():
        expected.setdefault(moved.get(trial, trial), set()).update(many)
    expected |= {trial: set(studies[trial.study]) for trial in existing if trial.study in studies}
    expected |= {trial: set(many) for trial, many in new.items()}
    in_order = sorted((trial, each.order) for trial, many in expected.items() if trial in existing for each in many)
    table = pa.Table.from_pylist(
        [
            {**t.study.key(), "trial_id": t.trial_id, **{k: v or "" for k, v in vars(each).items()}}
            for t, many in stored.items()
            for each in set(many)
        ],
        CONTRIBUTORS,
    )
    keys = pa.Table.from_pylist(
        [{**trial.study.key(), "trial_id": trial.trial_id} for trial in existing],
        pa.schema([CONTRIBUTORS.field(position) for position in range(6)]),
    )
    named: list[tuple[Study | Trial, list[Contributor]]] = [*new.items(), *studies.items()]
    rows = contributor_rows(moved_rows(table, moved), keys, dict(named)).to_pylist()
    names = ("name", "orcid", "role", "contribution")
    assert sorted((Trial.of(row), Contributor(*(row[name] for name in names)).order) for row in rows) == in_order
