"""Looking for inputs that hurt: whatever the bytes, a source and a CSV end in results or in named faults."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import SourceBroken
from losslake_ingest.contracts.study import StudyRejected
from losslake_ingest.formats.batch_science import FORMAT
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.readers.tables.csv_curves import read_curves
from losslake_ingest.sources.open import open_source
from tests.ingest.offers import TrialOffer, study_files, tar_bytes, zip_bytes

pytestmark = pytest.mark.fuzz
MANY = settings(max_examples=4000, suppress_health_check=list(HealthCheck))
GOOD = study_files({1: TrialOffer(), 2: TrialOffer()})
CONTAINERS = [tar_bytes(GOOD), zip_bytes(GOOD)]
CONTAINERS += [compress(CONTAINERS[0]) for compress in (bz2.compress, gzip.compress, lzma.compress)]
cell = st.one_of(
    st.floats().map(repr), st.integers().map(str), st.text(max_size=5), st.sampled_from(["", '"', "\r", "nan"])
)
line = st.lists(cell, max_size=4).map(",".join)


@MANY
@given(
    container=st.sampled_from(CONTAINERS),
    at=st.floats(0, 1),
    noise=st.binary(min_size=1, max_size=40),
    cut=st.booleans(),
)
def test_spoiled_archives(
    tmp_path_factory: pytest.TempPathFactory, container: bytes, at: float, noise: bytes, cut: bool
) -> None:
    position = int(at * len(container))
    rest = b"" if cut else container[position + len(noise) :]
    path: Path = tmp_path_factory.getbasetemp() / "spoiled"
    path.write_bytes(container[:position] + noise + rest)
    try:
        for part in FORMAT.read(open_source(path), LogMapping()):
            if not isinstance(part, Quarantined):
                loaded = part.load()
                assert len(loaded.trials) + len(loaded.quarantined) == part.n_trials
    except (SourceBroken, StudyRejected) as error:
        assert "\n" not in str(error)  # noqa: PT017


@MANY
@given(st.lists(st.lists(line, max_size=6).map("\n".join), min_size=1, max_size=4), st.booleans())
def test_any_text_as_csv(texts: list[str], with_header: bool) -> None:
    header = "step,val/loss,val/accuracy\n" if with_header else ""
    files = [(header + text).encode("utf-8", "surrogatepass") for text in texts]
    curves, good, faults = read_curves(files)
    assert sorted([*good, *faults]) == list(range(len(files)))
    assert len(curves.offsets) == len(good) + 1
    assert curves.offsets[-1] == len(curves.steps)


@MANY
@given(st.binary(max_size=400))
def test_any_bytes_as_an_archive(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path: Path = tmp_path_factory.getbasetemp() / "anything.tar"
    path.write_bytes(data)
    try:
        list(FORMAT.read(open_source(path), LogMapping()))
    except SourceBroken as error:
        assert "\n" not in str(error)  # noqa: PT017


def test_a_zip_bomb_is_refused_in_bounded_memory(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    name = "root/mnist/cnn/sgd/8/1/measurements.csv"
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(name, "w", force_zip64=True) as file,
    ):
        for _ in range(600):
            file.write(bytes(1 << 20))
    (tmp_path / "bomb.zip").write_bytes(buffer.getvalue())
    (refused,) = FORMAT.read(open_source(tmp_path / "bomb.zip"), LogMapping())
    assert isinstance(refused, Quarantined)
    assert refused.rule == "file_too_large"
