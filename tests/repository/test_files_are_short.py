from itertools import chain
from pathlib import Path

import pytest

from tests.repository.checkout import FOLDERS, ROOT, sources

MOST_LINES = 500


def too_long(path: Path) -> bool:
    return len(path.read_text().splitlines()) > MOST_LINES


def test_no_module_or_sql_file_exceeds_500_lines() -> None:
    files = chain.from_iterable(sources(folder, ".py", ".sql") for folder in FOLDERS)
    assert [str(path.relative_to(ROOT)) for path in files if too_long(path)] == []


@pytest.mark.parametrize(("lines", "expected"), [(MOST_LINES, False), (MOST_LINES + 1, True)])
def test_file_of_exactly_the_limit_is_allowed(tmp_path: Path, lines: int, expected: bool) -> None:
    module = tmp_path / "module.py"
    module.write_text("pass\n" * lines)
    assert too_long(module) is expected
