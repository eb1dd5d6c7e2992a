"""Percent signs stand at their number, 20%, in whatever people read."""

from __future__ import annotations

import re

from tests.repository.checkout import FOLDERS, ROOT

READ = ("*.md", "*.toml")


def test_no_space_stands_before_a_percent_sign() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {line}"
        for folder in ("docs", *FOLDERS)
        for kind in READ
        for path in (ROOT / folder).rglob(kind)
        for line in path.read_text("utf-8").splitlines()
        if re.search(r"\d %", line)
    ]
    assert found == []
