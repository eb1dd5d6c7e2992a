"""Files of a lake in a folder."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from losslake.lake.store.folder import FolderStore

CHECKOUT = Path(__file__).parents[4]


def test_a_file_moves_in_from_another_file_system(tmp_path: Path) -> None:
    if tmp_path.stat().st_dev == CHECKOUT.stat().st_dev:
        pytest.skip("temporary files are on the file system of the checkout")
    with TemporaryDirectory(dir=CHECKOUT) as folder:
        local = Path(folder) / "file"
        local.write_bytes(b"content")
        FolderStore(tmp_path).move_in(local, "a/file")
        assert not local.exists()
    assert [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()] == [b"content"]
