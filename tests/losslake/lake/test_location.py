"""A lake is named by a folder, a lake.toml, or two URLs; anything else is refused in a line that says what to give."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake.lake.location import in_folder, location_of
from losslake_schema.errors import LossLakeError

DATABASE = "postgresql+psycopg://reader:secret@db.example:5433/lakes"
BUCKET = "s3://curves/public"


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("LOSSLAKE_LAKE", "LOSSLAKE_CACHE_MB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOSSLAKE_CACHE", str(tmp_path / "cache"))


def test_a_folder_is_a_lake_with_all_in_it(tmp_path: Path) -> None:
    for asked in (tmp_path / "lake", f"{tmp_path}/lake", f"file://{tmp_path}/lake"):
        found = location_of(asked)
        assert found == in_folder(tmp_path / "lake")
        assert found.is_folder
        assert found.database_url == f"sqlite:///{tmp_path}/lake/catalog.db"


@pytest.mark.parametrize("between", [" ", ", ", ",", "  "])
def test_two_urls_are_a_database_and_a_place_for_files(between: str) -> None:
    found = location_of(f"{DATABASE}{between}{BUCKET}")
    assert (found.database_url, found.files_url, found.is_folder) == (DATABASE, BUCKET, False)


def test_the_password_is_never_shown() -> None:
    assert "secret" not in str(location_of(f"{DATABASE} {BUCKET}"))
    with pytest.raises(LossLakeError) as raised:
        location_of(DATABASE)
    assert "secret" not in str(raised.value)


def test_the_driver_needn_t_be_named() -> None:
    assert location_of(f"postgresql://db.example/lakes {BUCKET}").database.drivername == "postgresql+psycopg"


def test_files_may_lie_in_a_folder_beside_any_database(tmp_path: Path) -> None:
    for warehouse in (f"{tmp_path}/files", f"file://{tmp_path}/files/"):
        found = location_of(f"{DATABASE} {warehouse}")
        assert (found.files_url, found.is_folder) == (f"file://{tmp_path}/files", False)


def test_a_file_says_the_same_with_endpoint_and_cache(tmp_path: Path) -> None:
    file = tmp_path / "lake.toml"
    said = f'catalog = "{DATABASE}"\nwarehouse = "{BUCKET}"\nendpoint = "http://store.example:9000"\ncache_mb = 5\n'
    file.write_text(said)
    found = location_of(file)
    assert (found.database_url, found.files_url) == (DATABASE, BUCKET)
    assert (found.endpoint, found.cache_bytes) == ("http://store.example:9000", 5_000_000)


def test_the_file_that_marks_a_lake_names_its_folder(tmp_path: Path) -> None:
    (tmp_path / "lake.toml").write_text("layout_version = 2\n")
    assert location_of(tmp_path / "lake.toml") == in_folder(tmp_path)


def test_each_lake_has_a_cache_of_its_own(tmp_path: Path) -> None:
    one, other, again = (location_of(f"{DATABASE} {url}").folder for url in (BUCKET, f"{BUCKET}2", BUCKET))
    assert one == again != other
    assert one.parent == tmp_path / "cache"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (BUCKET, "is one URL"),
        (f"mysql://db/lakes {BUCKET}", "PostgreSQL or SQLite, not mysql"),
        (f"sqlite:// {BUCKET}", "names no file"),
        (f"{DATABASE} gs://curves", "not gs://"),
        (f"{DATABASE} s3://", "no place in a bucket"),
        (f"{DATABASE} s3://UPPER/x", "no place in a bucket"),
        (f"{DATABASE} s3://curves/../x", "no place in a bucket"),
        (f"{DATABASE} s3://curves/x?y=z", "no place in a bucket"),
        ("nowhere/lake.toml", "can't be read"),
    ],
)
def test_what_names_no_lake_is_refused_with_what_to_give(asked: str, says: str) -> None:
    with pytest.raises(LossLakeError, match=says) as raised:
        location_of(asked)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('catalog = "sqlite:////a.db"\n', "lacks warehouse"),
        ('catalog = "sqlite:////a.db"\nwarehouse = "s3://curves"\nsecret = 1\n', "'secret' is not known"),
        ('catalog = "sqlite:////a.db"\nwarehouse = "s3://curves"\ncache_mb = "x"\n', "cache_mb has to be a number"),
        ('catalog = "sqlite:////a.db"\nwarehouse = "s3://curves"\nendpoint = "ftp://x"\n', "no http"),
        ("catalog = ", "can't be read"),
    ],
)
def test_a_file_with_a_fault_is_refused_with_the_fault(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "other.toml"
    file.write_text(text)
    with pytest.raises(LossLakeError, match=says):
        location_of(file)


@pytest.mark.parametrize("size", ["0", "-1", "many"])
def test_a_cache_without_size_is_refused(monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    monkeypatch.setenv("LOSSLAKE_CACHE_MB", size)
    with pytest.raises(LossLakeError, match="whole number above 0"):
        location_of(f"{DATABASE} {BUCKET}")
