"""The threat model lists every attack on the service that takes contributions, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "tests" / "attacks").glob("test_contribut*.py"))


def attacks(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the goal and the name of the test of each attack in a file."""
    for item in ast.parse(path.read_text("utf-8")).body:
        if isinstance(item, ast.FunctionDef) and item.name.startswith("test_"):
            yield ast.get_docstring(item) or "", item.name


def test_every_attack_on_contributions_is_listed_and_every_listed_one_is_there() -> None:
    text = (
        (ROOT / "docs" / "threat-model.md")
        .read_text("utf-8")
        .partition("\n## Contributions\n")[2]
        .partition("\n## ")[0]
    )
    listed = re.findall(r"^\| (.+?) \| .+ \| `(test_\w+)` \|$", text, re.MULTILINE)
    made = [attack for path in FILES for attack in attacks(path)]
    assert sorted(listed) == sorted(made)
    assert len({name for _, name in made}) == len(made) >= 40
    assert f"these {len(made)} attacks" in text
    assert all(path.name in text for path in FILES)
