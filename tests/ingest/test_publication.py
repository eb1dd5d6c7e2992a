"""The folder of a published collection: its bundle is made from logs, and says what newer logs would change."""

from __future__ import annotations

import re
from operator import attrgetter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from losslake.lake.lake import Lake
from losslake_ingest.publication import Difference, build, bundle_path, compare, publication
from losslake_ingest.run import ingest
from losslake_schema.errors import LossLakeError
from tests.ingest.bundles.made_up import LOGS, MAPPING, members
from tests.ingest.offers import unpacked
from tests.repository.checkout import ROOT

CORPORA = ROOT.parent / "shared" / "corpora"
PUBLISHED = sorted(file.parent for file in (ROOT / "published").glob("*/SOURCE.toml"))
NAME = attrgetter("name")
SOURCE = b"""
publisher = "Ann"
licence = "MIT"
citation = "Ann, 2026."
reduced = "lines of steps only"
[[logs]]
path = "corpus"
repository = "https://host/ann/c"
commit = "1a2b"
root = "runs/"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    unpacked(tmp_path / "logs" / "corpus", LOGS)
    return unpacked(tmp_path / "c", {"losslake.toml": MAPPING, "SOURCE.toml": SOURCE})


@pytest.mark.slow
def test_a_bundle_is_built_again_byte_for_byte(folder: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert build(folder, tmp_path / "logs", tmp_path / name).trials_ingested == 3
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    lake = Lake.create(tmp_path / "lake")
    summary = ingest(lake, [tmp_path / "one"])
    assert summary.sources[0].remarks == (("lines of steps only", 1),)
    assert summary.quarantined[0].path == "ann/b16/lr0.3/a.csv"


def test_differences_name_the_studies_that_were_added_changed_or_are_gone(folder: Path, tmp_path: Path) -> None:
    target = bundle_path(folder)
    assert target.name == "c.tar"
    build(folder, tmp_path / "logs", target)
    before = compare(tmp_path / "none.tar", target)
    assert (before.added, before.changed, before.gone) == (["c/d/m/o/16", "c/d/m/o/8"], [], [])
    corpus = tmp_path / "logs" / "corpus" / "runs" / "ann"
    (corpus / "b8" / "lr0.1" / "a.csv").write_text("step,loss\n0,9\n")
    (corpus / "b16").rename(corpus / "b32")
    build(folder, tmp_path / "logs", tmp_path / "new.tar")
    after = compare(target, tmp_path / "new.tar")
    assert (after.added, after.changed, after.gone) == (["c/d/m/o/32"], ["c/d/m/o/8"], ["c/d/m/o/16"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "can't be used"),
        (SOURCE + b"more = 1\n", "can't be used"),
        (b"=", "can't be used"),
        (SOURCE + b'url = "https://host/x.tar"\n', "needs repository and commit, or url"),
        (SOURCE.replace(b'commit = "1a2b"\n', b""), "needs repository and commit, or url"),
        (None, "can't read"),
        (
            SOURCE.replace(b'"corpus"', b'"elsewhere"'),
            "elsewhere doesn't exist: give the folder of all logs with --logs",
        ),
    ],
)
def test_a_bad_source_is_one_line(folder: Path, tmp_path: Path, text: bytes | None, message: str) -> None:
    (folder / "SOURCE.toml").unlink()
    if text is not None:
        (folder / "SOURCE.toml").write_bytes(text)
    with pytest.raises(LossLakeError, match=message) as caught:
        build(folder, tmp_path / "logs", tmp_path / "c.tar")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "c.tar").exists()


@pytest.mark.parametrize("folder", PUBLISHED, ids=NAME)
def test_every_published_collection_has_source_readme_and_a_line_in_the_licences(folder: Path) -> None:
    about = publication(folder)
    line = f"| [{folder.name}]({folder.name}/README.md) | {about.publisher} | {about.licence} |"
    assert line in (ROOT / "published" / "LICENCES.md").read_text("utf-8").splitlines()
    assert (folder / "README.md").is_file()
    assert about.citation


def test_bundles_take_at_most_45_mb_together() -> None:
    assert sum(bundle_path(folder).stat().st_size for folder in PUBLISHED if bundle_path(folder).exists()) < 45e6


def logs_are_at_hand(folder: Path) -> bool:
    return bundle_path(folder).exists() and all((CORPORA / logs.path).exists() for logs in publication(folder).logs)


@pytest.mark.slow
@pytest.mark.skipif(not CORPORA.is_dir(), reason="the published logs aren't at hand")
@pytest.mark.parametrize("folder", [each for each in PUBLISHED if logs_are_at_hand(each)], ids=NAME)
def test_the_bundle_is_that_of_the_published_logs(folder: Path, tmp_path: Path) -> None:
    build(folder, CORPORA, tmp_path / "again.tar")
    assert compare(bundle_path(folder), tmp_path / "again.tar") == Difference([], [], [])
    assert (tmp_path / "again.tar").read_bytes() == bundle_path(folder).read_bytes()


@pytest.mark.parametrize("folder", [each for each in PUBLISHED if bundle_path(each).exists()], ids=NAME)
def test_bundles_name_no_paths_addresses_or_hosts(folder: Path) -> None:
    text = re.compile(r'^"(?:~|[A-Za-z]:\\)?[/\\]|[^\s@]@[\w-]+\.\w|(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])')
    trials = pq.read_table(pa.BufferReader(members(bundle_path(folder))["trials.parquet"]))
    found = {value for attributes in trials["attributes"].to_pylist() for _, value in attributes if text.search(value)}
    assert found == set()
