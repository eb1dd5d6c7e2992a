"""The tool that changes lines and looks whether tests notice, on a made-up package."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants import drawn, mirroring, mutants_of
from tests.repository.checkout import ROOT

MODULE = '''"""Words about 1 < 2."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST = 3


def first(values: "Sequence[float]", most: float = MOST) -> float:
    """Return the first small value, of 1 or more."""
    for value in values:
        if value < most:
            return value
    raise ValueError(f"none is below {most + 1}")
'''
TESTS = """from losslake.numbers.small import first

def test_first_small_value():
    assert first([5, 2, 1]) == 2
"""
OWN = "tests/losslake/numbers/test_small.py"
OPTIONS = '[tool.pytest.ini_options]\naddopts = "--disable-plugin-autoload -p xdist --import-mode=importlib"\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A tree with one module and its tests, which try no value at the limit."""
    for name, text in {
        "losslake/__init__.py": "",
        "losslake/numbers/small.py": MODULE,
        OWN: TESTS,
        "pyproject.toml": OPTIONS,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


def changes(source: str) -> set[str]:
    return {
        source[: each.place.start] + each.new + source[each.place.stop :] for each in mutants_of("", source.encode())
    }


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", {"a >= b", "a <= b"}),
        ("a == b != c", {"a != b != c", "a == b == c"}),
        ("x = a and b or c", {"x = (a or b) or c", "x = ((a and b) and c)"}),
        ("x = a if b else c", {"x = a if (not (b)) else c"}),
        ("x = [a for a in b if not a]", {"x = [a for a in b if (a)]"}),
        (
            "x = True, 9, 200, 0.5",
            {"x = False, 9, 200, 0.5", "x = True, 10, 200, 0.5", "x = True, 9, 400, 0.5", "x = True, 9, 200, 1.5"},
        ),
        ("a()", {"pass"}),
        ("def f(a: 1 = b) -> 2:\n    '''3'''\n    a.b = c", {"def f(a: 1 = b) -> 2:\n    '''3'''\n    pass"}),
        ("if a:\n    raise E(1)", {"if (not (a)):\n    raise E(1)", "if a:\n    pass"}),
        ("import a\nassert 1\nf'{2}'\n_log.info(3)\n@a(4)\nclass B: 'a'", set()),
    ],
)
def test_each_kind_of_change(source: str, expected: set[str]) -> None:
    assert changes(source) == expected


def test_same_seed_draws_same_lines_whatever_else_changes(root: Path) -> None:
    def lines(seed: int, n: int = 3) -> list[tuple[str, str]]:
        return [(each.old, each.new) for each in drawn(root, n, seed)]

    before = [lines(seed) for seed in range(8)]
    (root / "losslake" / "numbers" / "small.py").write_text(f"x = y\n{MODULE}")
    assert [lines(seed) for seed in range(8)] == before
    assert [lines(seed, 2) for seed in range(8)] == [each[:2] for each in before]
    assert len({str(each) for each in before}) > 1


def test_mirroring_a_module_begin_with_its_own(root: Path) -> None:
    folder = root / "tests" / "losslake"
    (folder / "numbers" / "test_all.py").write_text("from losslake.numbers import large, small\n")
    (folder / "numbers" / "test_large.py").write_text("import losslake.numbers.large\n")
    (folder / "test_api.py").write_text("import losslake\n")
    (root / "tests" / "test_other.py").write_text("import losslake.numbers.smaller\n")
    names = ["numbers/test_small.py", "numbers/test_all.py", "numbers/test_large.py", "test_api.py"]
    assert mirroring(root, "losslake/numbers/small.py") == [f"tests/losslake/{name}" for name in names]


def printed(root: Path, *only: str) -> list[str]:
    """Return what the tool says about the tree, without times."""
    command = [sys.executable, str(ROOT / "tests" / "mutants.py"), "9", "3", "1", "10", str(root), *only]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return re.sub(r", [0-9.]+ s\)", ")", done.stdout).splitlines()


def test_each_mutant_is_killed_or_survives_and_the_tree_stays_as_it_is(root: Path) -> None:
    before = {path: path.read_bytes() for path in root.rglob("*.py")}
    kills = f"killed by {OWN}::test_first_small_value (1 tests)"
    assert printed(root) == [
        f"losslake/numbers/small.py:15: return value -> pass  {kills}",
        "losslake/numbers/small.py:14: value < most -> value <= most  survived (1 tests)",
        "losslake/numbers/small.py:8: 3 -> 4  survived (1 tests)",
        "2 of 3 survived",
        "losslake/numbers/small.py:14: value < most -> value <= most",
        "losslake/numbers/small.py:8: 3 -> 4",
    ]
    assert {path: path.read_bytes() for path in root.rglob("*.py")} == before


def test_test_that_fails_anyway_is_named(root: Path) -> None:
    (root / OWN).write_text(f"{TESTS}\ndef test_wrong():\n    assert first([1]) == 2\n")
    assert printed(root, "losslake/numbers/small.py:8")[1:] == [
        "0 of 1 survived",
        f"fails without a mutant as well: {OWN}::test_wrong",
    ]
