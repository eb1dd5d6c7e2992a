"""The location of a lake: a folder, a lake.toml or two URLs; anything else is refused with a remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import make_url

from losslake.lake.location import in_folder, location_of
from losslake_schema.errors import LossLakeError

DATABASE = "postgresql+psycopg://reader:secret@db.example:5433/lakes"
BUCKET = "s3://curves/public"


@pytest.fixture(autouse=True)
def _isolated_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("LOSSLAKE_LAKE", "LOSSLAKE_CACHE_MB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOSSLAKE_CACHE", str(tmp_path / "cache"))


def test_a_folder_or_its_file_url_is_a_lake_in_the_folder(tmp_path: Path) -> None:
    for location in (tmp_path / "lake", f"{tmp_path}/lake", f"file://{tmp_path}/lake"):
        parsed = location_of(location)
        assert parsed == in_folder(tmp_path / "lake")
        assert parsed.is_folder
        assert parsed.database == make_url(f"sqlite:///{tmp_path}/lake/catalog.db")


def test_a_folder_given_from_elsewhere_is_the_same_lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "far/away").mkdir(parents=True)
    (tmp_path / "logs/link").symlink_to(tmp_path / "far/away")
    monkeypatch.chdir(tmp_path / "logs")
    for text in ("../lake", "../logs/../lake", f"file://{tmp_path}/logs/../lake"):
        assert location_of(text) == in_folder(tmp_path / "lake")
    assert location_of("link/../lake") == in_folder(tmp_path / "far/lake")


@pytest.mark.parametrize("between", [" ", ", ", ",", "  "])
def test_two_urls_give_database_and_warehouse(between: str) -> None:
    parsed = location_of(f"{DATABASE}{between}{BUCKET}")
    assert (parsed.database, parsed.files_url, parsed.is_folder) == (make_url(DATABASE), BUCKET, False)


def test_the_password_is_never_shown() -> None:
    assert "secret" not in str(location_of(f"{DATABASE} {BUCKET}"))
    with pytest.raises(LossLakeError, match=r"is one URL: give a folder, a lake\.toml, or two URLs") as raised:
        location_of(DATABASE)
    assert "secret" not in str(raised.value)


def test_a_postgresql_url_needs_no_driver() -> None:
    assert location_of(f"postgresql://db.example/lakes {BUCKET}").database.drivername == "postgresql+psycopg"


def test_the_warehouse_may_be_a_folder_with_any_database(tmp_path: Path) -> None:
    for warehouse in (f"{tmp_path}/files", f"file://{tmp_path}/files/"):
        parsed = location_of(f"{DATABASE} {warehouse}")
        assert (parsed.files_url, parsed.is_folder) == (f"file://{tmp_path}/files", False)


def test_a_toml_file_gives_the_location_with_endpoint_and_cache(tmp_path: Path) -> None:
    file = tmp_path / "lake.toml"
    said = f'catalog = "{DATABASE}"\nwarehouse = "{BUCKET}"\nendpoint = "http://store.example:9000"\ncache_mb = 5\n'
    file.write_text(said)
    parsed = location_of(file)
    assert (parsed.database, parsed.files_url) == (make_url(DATABASE), BUCKET)
    assert (parsed.endpoint, parsed.cache_bytes) == ("http://store.example:9000", 5_000_000)


def test_the_marker_of_a_lake_stands_for_its_folder(tmp_path: Path) -> None:
    (tmp_path / "lake.toml").write_text("layout_version = 2\n")
    assert location_of(tmp_path / "lake.toml") == in_folder(tmp_path)


def test_each_remote_lake_has_a_separate_cache(tmp_path: Path) -> None:
    one, other, again = (location_of(f"{DATABASE} {url}").folder for url in (BUCKET, f"{BUCKET}2", BUCKET))
    assert one == again != other
    assert one.parent == tmp_path / "cache"


@pytest.mark.parametrize(
    ("location", "says"),
    [
        (BUCKET, "is one URL"),
        (f"mysql://db/lakes {BUCKET}", "PostgreSQL or SQLite, not mysql"),
        (f"sqlite:// {BUCKET}", "names no file"),
        (f"{DATABASE} gs://curves", "not gs://"),
        (f"{DATABASE} s3://", "not a valid bucket and prefix"),
        (f"{DATABASE} s3://UPPER/x", "not a valid bucket and prefix"),
        (f"{DATABASE} s3://curves/../x", "not a valid bucket and prefix"),
        (f"{DATABASE} s3://curves/x?y=z", "not a valid bucket and prefix"),
        ("nowhere/lake.toml", "can't be read"),
    ],
)
def test_an_invalid_location_is_refused_with_a_remedy(location: str, says: str) -> None:
    with pytest.raises(LossLakeError, match=says) as raised:
        location_of(location)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('catalog = "sqlite:////a.db"\n', "warehouse is missing"),
        ('catalog = "sqlite:////a.db"\nwarehouse = "s3://curves"\nsecret = 1\n', "unknown key 'secret'"),
        ('catalog = "sqlite:////a.db"\nwarehouse = "s3://curves"\ncache_mb = "x"\n', "cache_mb must be a number"),
        ('catalog = "sqlite:////a.db"\nwarehouse = "s3://curves"\nendpoint = "ftp://x"\n', "not an http"),
        ("catalog = ", "can't be read"),
    ],
)
def test_an_invalid_toml_file_is_refused_with_the_reason(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "other.toml"
    file.write_text(text)
    with pytest.raises(LossLakeError, match=says):
        location_of(file)


@pytest.mark.parametrize("size", ["0", "-1", "many"])
def test_a_cache_without_size_is_refused(monkeypatch: pytest.MonkeyPatch, size: str) -> None:
    monkeypatch.setenv("LOSSLAKE_CACHE_MB", size)
    with pytest.raises(LossLakeError, match="whole number above 0"):
        location_of(f"{DATABASE} {BUCKET}")
