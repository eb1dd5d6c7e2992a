"""`losslake fetch` takes the logs of a published collection from its repository, and recognizes those of its bundle."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest import publication
from tests.cli.conftest import Run
from tests.cli.web import Web, running
from tests.ingest.bundles.made_up import LOGS, MAPPING
from tests.ingest.offers import tar_bytes, unpacked
from tests.ingest.test_publication import SOURCE


@pytest.fixture
def web() -> Iterator[Web]:
    with running() as web:
        yield web


def test_a_collection_is_fetched_from_its_repository_and_its_trials_are_recognized(
    losslake: Run, web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pattern = b'"c/{top}/{submitter}/b{batch_size:int}'
    mapping = MAPPING.replace(b'"{submitter}/b{batch_size:int}', pattern)
    unpacked(tmp_path / "logs" / "corpus" / "c", LOGS)
    folder = unpacked(tmp_path / "published" / "mine", {"losslake.toml": mapping, "SOURCE.toml": SOURCE})
    monkeypatch.setattr(publication, "_PLACES", (tmp_path / "published",))
    monkeypatch.setattr(publication, "GITHUB", web.url)
    web.served["/ann/c/tar.gz/1a2b"] = gzip.compress(tar_bytes({f"c-1a2b/{path}": each for path, each in LOGS.items()}))
    lake = ("--lake", tmp_path / "lake")
    assert losslake("bundle", folder, "--logs", tmp_path / "logs", "--quiet").returncode == 0
    assert losslake("ingest", folder / "mine.tar", "--quiet", *lake).returncode == 0
    done = losslake("fetch", "mine", "--quiet", *lake)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("licence      MIT, of Ann\nfetching https://host/ann/c@1a2b\n")
    assert "unchanged    3 trials in 2 studies" in done.stdout
    assert "warning" not in done.stderr
    assert Lake.open(tmp_path / "lake").release().number == 1


def test_published_collections_are_listed_with_their_repositories(losslake: Run) -> None:
    listed = losslake("fetch").stdout
    assert "shallue2018" in listed
    assert "modded-nanogpt" in listed
    assert "mlperf-training" in listed


def test_a_published_collection_has_no_mirror(losslake: Run) -> None:
    refused = losslake("fetch", "modded-nanogpt", "--mirror", "http://127.0.0.1:9/x")
    assert refused.returncode == 1
    assert "is fetched from its repositories" in refused.stderr
