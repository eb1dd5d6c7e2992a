"""The remote commands against a real `losslake serve`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from losslake.client.client import Client
from losslake.client.service import Service
from losslake.lake.lake import Lake
from losslake.lake.verification import verify
from losslake_cli.logs import remote_archive
from losslake_cli.logs.remote_archive import RemoteArchive
from losslake_ingest.run import ingest
from tests.cli.conftest import Run
from tests.contributions.made_runs import ERROR, curve, write_run
from tests.ingest.offers import TrialOffer, study_files, unpacked
from tests.service.running import served

ROWS = [f"{step},{1 / (1 + step)!r}" for step in range(3000)]


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Create two releases with a slash in a collection and a percent sign in a data set."""
    folder = tmp_path_factory.mktemp("origin")
    trials = {1: TrialOffer(rows=ROWS), 2: TrialOffer(rows=["0,0.8", "10,nan"], status="INFEASIBLE")}
    lake = Lake.create(folder / "lake")
    files = study_files(trials, 8) | study_files(trials, 16, "root/deep/mnist 100%/cnn/sgd")
    ingest(lake, [unpacked(folder / "one", files)], notes="one")
    ingest(lake, [unpacked(folder / "two", study_files(trials, 32))], notes="two")
    return lake


@pytest.fixture(scope="module")
def url(origin: Lake, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("service"), lake=str(origin.folder), sql_enabled=True) as running:
        yield running.url


def test_a_downloaded_release_equals_the_original(losslake: Run, url: str, origin: Lake, tmp_path: Path) -> None:
    for number in (1, 2):
        done = losslake("download", url, tmp_path / "lake", "--release", number)
        assert done.returncode == 0, done.stderr
    lake = Lake.open(tmp_path / "lake")
    for number in (1, 2):
        here, there = lake.release(number), origin.release(number)
        assert (here.content_digest, here.notes, here.created_at) == (
            there.content_digest,
            there.notes,
            there.created_at,
        )
        assert verify(lake, here).problems == ()


def test_a_part_is_selected_by_names_that_need_encoding(losslake: Run, url: str, tmp_path: Path) -> None:
    part = ("--collection", "root/deep", "--dataset", "mnist 100%")
    done = losslake("download", url, tmp_path / "lake", *part)
    assert done.returncode == 0, done.stderr
    lake = Lake.open(tmp_path / "lake")
    assert verify(lake, lake.release()).problems == ()
    assert lake.release().n_studies == 1


@pytest.mark.parametrize("format_", ["table", "csv", "json"])
def test_sql_on_a_service_prints_the_same_as_on_the_lake(losslake: Run, url: str, origin: Lake, format_: str) -> None:
    statements = "FROM trials ORDER BY ALL; DESCRIBE trials; SELECT count(*), sum(value) FROM measurements"
    here = losslake("sql", "--lake", origin.folder, "--format", format_, stdin=statements)
    there = losslake("sql", "--url", url, "--format", format_, stdin=statements)
    assert there.returncode == 0, there.stderr
    assert there.stdout == here.stdout


@pytest.mark.parametrize("more", [(), ("root/deep", "--format", "bibtex"), ("cnn",), ("--format", "cff")])
def test_citations_of_a_service_equal_those_of_the_lake(
    losslake: Run, url: str, origin: Lake, more: tuple[str, ...]
) -> None:
    here, there = (losslake("cite", *more, *source) for source in (("--lake", origin.folder), ("--url", url)))
    assert there.returncode == 0, there.stderr
    assert there.stdout == here.stdout


def test_a_report_beside_a_service_is_that_beside_its_lake(
    losslake: Run, url: str, origin: Lake, tmp_path: Path
) -> None:
    goal = {"metric": ERROR, "target": 0.3, "comparator": "strict", "source": "a paper"}
    write_run(tmp_path / "runs", 1, curve([0.9, 0.2, 0.1]), collection="mine", goals=[goal])
    texts = []
    for name in ((tmp_path / "runs",), ("root/mnist/cnn/sgd/8/1", "--metric", ERROR, "--target", "0.3")):
        for place, source in enumerate((("--lake", origin.folder), ("--url", url))):
            done = losslake("report", *name, *source, "--to", tmp_path / f"{place}")
            assert done.returncode == 0, done.stderr
            text = (tmp_path / f"{place}/report.md").read_text()
            texts.append(text.replace(f"--url {url}", f"--lake {origin.folder}"))
    assert texts[0] == texts[1]
    assert texts[2] == texts[3]


def test_an_error_of_a_service_shows_the_line_of_the_statement_with_a_caret(losslake: Run, url: str) -> None:
    message, line, caret = losslake("sql", "--url", url, "-c", "SELECT\n  1 + nothing").stderr.splitlines()
    assert "nothing" in message
    assert line == "LINE 2:   1 + nothing"
    assert caret == " " * line.index("nothing") + "^"


def test_an_error_of_the_service_is_one_line_and_its_place_in_the_statement(losslake: Run, url: str) -> None:
    for statement in ("COPY (SELECT 1) TO 'x'", "SELECT nothing FROM trials", "FROM read_csv('/etc/passwd')"):
        done = losslake("sql", "--url", url, "-c", statement)
        assert done.returncode == 1
        message, *shown = done.stderr.splitlines()
        assert message.startswith("losslake: ")
        assert not shown or (len(shown) == 2 and shown[0] == f"LINE 1: {statement}")


def test_a_file_of_a_release_is_read_by_range_requests(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_archive, "CHUNK", 1000)
    monkeypatch.setattr(remote_archive, "CACHED_CHUNKS", 2)
    with Client() as client:
        service = Service(client, url)
        file = max(service.files(2), key=lambda listed: listed.bytes)
        with RemoteArchive(client, str(service.data_url(2, file)), file.sha256) as archive:
            opened = archive.open()
            whole = opened.read()
            opened.seek(1500)
            assert opened.read(3000) == whole[1500:4500]
            assert archive.sha256() == file.sha256
