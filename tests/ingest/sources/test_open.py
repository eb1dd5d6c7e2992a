"""A source is read the same from a folder, a tar in any compression or a zip; what is broken or hostile is named."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from losslake_ingest.contracts.rules import Rule, SourceBroken, UnknownSource
from losslake_ingest.sources import member
from losslake_ingest.sources.member import Member, Refused
from losslake_ingest.sources.open import open_source
from losslake_ingest.sources.tar import read_tar
from tests.ingest.offers import tar_bytes, unpacked, written, zip_bytes

FILES = {"a/one.json": b"{}", "a/two.csv": b"x" * 5000, "b/three.csv": b"", "skipped.txt": b"no"}
WANTED = {path: data for path, data in FILES.items() if not path.endswith(".txt")}


def wanted(path: str) -> bool:
    return path.endswith((".json", ".csv"))


def members_of(path: Path) -> list[Member | Refused]:
    return list(open_source(path).members(wanted))


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda data: data,
    "bzip2": bz2.compress,
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "zstandard": lambda data: zstandard.ZstdCompressor().compress(data),
}


@pytest.mark.parametrize("compression", COMPRESSORS)
def test_a_tar_is_read_whatever_its_compression_and_its_name(tmp_path: Path, compression: str) -> None:
    archive = written(tmp_path / "logs", COMPRESSORS[compression](tar_bytes(FILES)))
    assert dict(members_of(archive)) == WANTED  # type: ignore[arg-type]


def test_a_zip_is_read(tmp_path: Path) -> None:
    assert dict(members_of(written(tmp_path / "logs.zip", zip_bytes(FILES)))) == WANTED  # type: ignore[arg-type]


def test_a_folder_is_read_in_order_of_names(tmp_path: Path) -> None:
    assert dict(members_of(unpacked(tmp_path, FILES))) == WANTED  # type: ignore[arg-type]


def test_bzip2_streams_one_after_the_other_are_one_archive(tmp_path: Path) -> None:
    data = tar_bytes(FILES)
    archive = written(tmp_path / "a.tar.bz2", bz2.compress(data[:1000]) + bz2.compress(data[1000:]))
    assert dict(members_of(archive)) == WANTED  # type: ignore[arg-type]


@given(
    names=st.lists(
        st.text(
            st.characters(codec="utf-8", exclude_characters="/\0\\", exclude_categories=["Cc", "Cs"]),
            min_size=1,
            max_size=150,
        ),
        min_size=1,
        max_size=4,
        unique=True,
    ),
    sizes=st.lists(st.integers(0, 1500), min_size=4, max_size=4),
    layout=st.sampled_from([tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
)
def test_our_tar_reader_agrees_with_the_standard_library(names: list[str], sizes: list[int], layout: int) -> None:
    files = {f"d/{name}.csv": bytes([65 + i]) * sizes[i] for i, name in enumerate(names)}
    try:
        data = tar_bytes(files, format=layout)
    except ValueError:
        return  # ustar can't hold names that long
    expected = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for entry in archive:
            content = archive.extractfile(entry)
            assert content is not None
            expected[member.normalize_path(entry.name)] = content.read()
    read = {m.path: m.data for m in read_tar(io.BytesIO(data).read, wanted) if isinstance(m, Member)}
    assert {member.normalize_path(path): content for path, content in read.items()} == expected


@pytest.mark.parametrize("compression", COMPRESSORS)
@pytest.mark.parametrize("kept", [0.05, 0.5, 0.95])
def test_truncated_archive_yields_complete_files_and_then_an_error(
    tmp_path: Path, compression: str, kept: float
) -> None:
    files = {f"f{i}.csv": bytes(str(i), "ascii") * 30_000 for i in range(8)}
    whole = COMPRESSORS[compression](tar_bytes(files))
    archive = written(tmp_path / "cut", whole[: int(len(whole) * kept)])
    seen: list[Member | Refused] = []
    with pytest.raises(SourceBroken, match=r"cut short|damaged|no tar"):
        seen.extend(open_source(archive).members(wanted))
    assert dict(seen).items() <= files.items()  # type: ignore[arg-type]
    if compression == "plain":
        assert len(seen) == sum((i + 1) * 30_208 + i * 512 + 512 <= len(whole) * kept for i in range(8))


@pytest.mark.parametrize("at", [0.1, 0.5, 0.9])
def test_a_damaged_bzip2_never_delivers_wrong_bytes(tmp_path: Path, at: float) -> None:
    files = {f"f{i}.csv": bytes(str(i), "ascii") * 300_000 for i in range(8)}
    damaged = bytearray(bz2.compress(tar_bytes(files), 1))
    damaged[int(len(damaged) * at)] ^= 0x10
    archive = written(tmp_path / "damaged.tar.bz2", bytes(damaged))
    seen: list[Member | Refused] = []
    with pytest.raises(SourceBroken, match="damaged"):
        seen.extend(open_source(archive).members(wanted))
    assert dict(seen).items() <= files.items()  # type: ignore[arg-type]


def test_everything_before_the_damage_is_delivered(tmp_path: Path) -> None:
    files = {f"f{i}.csv": bytes([97 + i]) * 200_000 for i in range(6)}
    streams = [bz2.compress(tar_bytes({path: data})[: 512 + 200_192]) for path, data in files.items()]
    archive = written(tmp_path / "cut.tar.bz2", b"".join(streams[:4]) + streams[4][:30])
    seen: list[Member | Refused] = []
    with pytest.raises(SourceBroken, match="the bzip2 stream is damaged or cut short"):
        seen.extend(open_source(archive).members(wanted))
    assert [entry.path for entry in seen] == ["f0.csv", "f1.csv", "f2.csv", "f3.csv"]


def test_a_truncated_zip_is_broken(tmp_path: Path) -> None:
    with pytest.raises(SourceBroken, match="zip has no readable directory"):
        members_of(written(tmp_path / "cut.zip", zip_bytes(FILES)[:-30]))


def test_a_damaged_file_in_a_zip_is_refused_alone(tmp_path: Path) -> None:
    data = zip_bytes({"a.csv": b"abc" * 1000, "b.csv": b"fine"})
    at = data.index(b"a.csv") + 10
    entries = members_of(written(tmp_path / "damaged.zip", data[:at] + b"\xff\xff" + data[at + 2 :]))
    assert isinstance(entries[0], Refused)
    assert entries[0].rule == Rule.DAMAGED_FILE
    assert entries[1] == Member("b.csv", b"fine")


@pytest.mark.parametrize("path", ["../out.csv", "a/../../out.csv", "/etc/passwd.csv", "C:/x.csv", "a\\b.csv"])
@pytest.mark.parametrize("pack", [tar_bytes, zip_bytes])
def test_unsafe_paths_are_refused(tmp_path: Path, path: str, pack: object) -> None:
    entries = members_of(written(tmp_path / "tricks", pack({path: b"x", "good.csv": b"y"})))  # type: ignore[operator]
    assert [type(entry) for entry in entries] == [Refused, Member]
    assert entries[0].rule == Rule.PATH_TRICK  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, kind: bytes) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        entry = tarfile.TarInfo("a.csv")
        entry.type = kind
        entry.linkname = "/etc/passwd"
        archive.addfile(entry)
    (refused,) = members_of(written(tmp_path / "links.tar", buffer.getvalue()))
    assert isinstance(refused, Refused)
    assert refused.rule == Rule.NOT_A_FILE


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    folder = unpacked(tmp_path / "logs", {"real.csv": b"1"})
    (folder / "link.csv").symlink_to("/etc/passwd")
    (folder / "up").symlink_to(tmp_path)
    entries = members_of(folder)
    assert [entry for entry in entries if isinstance(entry, Member)] == [Member("real.csv", b"1")]
    assert {entry.path for entry in entries if isinstance(entry, Refused)} == {"link.csv", "up"}


def test_links_in_a_folder_to_what_it_holds_are_skipped(tmp_path: Path) -> None:
    folder = unpacked(tmp_path / "wandb", {"run-1/a.csv": b"1", "run-1/logs/debug.csv": b"2"})
    (folder / "latest-run").symlink_to("run-1")
    (folder / "debug.csv").symlink_to(folder / "run-1/logs/debug.csv")
    (folder / "latest").symlink_to("latest-run")
    (folder / "here").symlink_to(".")
    (folder / "lost.csv").symlink_to("run-2/a.csv")
    (folder / "run-1" / "up").symlink_to("..")
    (folder / "loop.csv").symlink_to("loop.csv")
    entries = members_of(folder)
    assert [entry.path for entry in entries if isinstance(entry, Member)] == ["run-1/a.csv", "run-1/logs/debug.csv"]
    # A link to nothing may be a run that is missing; one that leads up may stand for facts in its path.
    assert [entry.path for entry in entries if isinstance(entry, Refused)] == [
        "here",
        "loop.csv",
        "lost.csv",
        "run-1/up",
    ]


@pytest.mark.parametrize("format_", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_links_of_a_tar_to_what_the_same_folder_holds_are_skipped(tmp_path: Path, format_: int) -> None:
    long = "offline-run-" + "1" * 120
    links = {
        "wandb/latest-run": long, "wandb/debug.csv": f"./{long}/debug.csv", "wandb/lost": "run-2",
        "wandb/up": "../wandb", "wandb/out.csv": "/etc/passwd", "wandb/deep/x.csv": "debug.csv",
    }  # fmt: skip
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format_) as archive:
        for path, target in links.items():
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            archive.addfile(entry)
        file = tarfile.TarInfo(f"wandb/{long}/debug.csv")
        file.size = 1
        archive.addfile(file, io.BytesIO(b"1"))
    entries = members_of(written(tmp_path / "links.tar", buffer.getvalue()))
    assert [entry.path for entry in entries if isinstance(entry, Member)] == [f"wandb/{long}/debug.csv"]
    refused = {entry.path for entry in entries if isinstance(entry, Refused)}
    assert refused == {"wandb/lost", "wandb/up", "wandb/out.csv", "wandb/deep/x.csv"}


def test_too_large_file_is_skipped_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("losslake_ingest.sources.tar", "losslake_ingest.sources.open", "losslake_ingest.sources.member"):
        monkeypatch.setattr(f"{module}.LARGEST_FILE", 100)
    files = {"big.csv": b"1" * 101, "small.csv": b"1" * 100}
    for archive in (
        written(tmp_path / "a.tar", tar_bytes(files)),
        written(tmp_path / "a.zip", zip_bytes(files)),
        unpacked(tmp_path / "folder", files),
    ):
        refused, good = members_of(archive)
        assert isinstance(refused, Refused)
        assert (refused.path, refused.rule) == ("big.csv", Rule.FILE_TOO_LARGE)
        assert good == Member("small.csv", b"1" * 100)


def test_ten_gigabytes_of_one_line_are_skipped_in_bounded_memory() -> None:
    size = 10 * 2**30
    entry = tarfile.TarInfo("huge.csv")
    entry.size = size
    header, tail = entry.tobuf(tarfile.GNU_FORMAT), tar_bytes({"next.csv": b"here"})
    left = size
    zeros = bytes(1 << 22)

    def read(n: int) -> bytes:
        nonlocal header, left, tail
        if header:
            chunk, header = header, b""
        elif left:
            chunk = zeros[: min(left, n)]
            left -= len(chunk)
        else:
            chunk, tail = tail[:n], tail[n:]
        return chunk

    refused, good = read_tar(read, wanted)
    assert isinstance(refused, Refused)
    assert refused.rule == Rule.FILE_TOO_LARGE
    assert good == Member("next.csv", b"here")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(noise=st.binary(max_size=3000), at=st.integers(0, 4000))
def test_noise_in_a_tar_ends_in_a_clear_error_or_in_files(noise: bytes, at: int) -> None:
    data = tar_bytes({"a.csv": b"1" * 700, "b.csv": b"2"})
    spoiled = io.BytesIO(data[:at] + noise + data[at + len(noise) :])
    message = ""
    try:
        list(read_tar(spoiled.read, wanted))
    except SourceBroken as error:
        message = str(error)
    assert "\n" not in message


def test_missing_path_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(UnknownSource, match="doesn't exist"):
        open_source(tmp_path / "absent")
    with pytest.raises(SourceBroken, match="cut short"):
        members_of(written(tmp_path / "empty.tar", b""))
