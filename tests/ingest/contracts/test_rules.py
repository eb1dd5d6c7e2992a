"""Every rule is documented, and the documentation names no other."""

from __future__ import annotations

import re
from pathlib import Path

from losslake_ingest.contracts.rules import Rule

DOCUMENT = Path(__file__).parents[3] / "docs" / "quarantine.md"


def test_the_documented_rules_are_the_rules() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", DOCUMENT.read_text("utf-8"), re.MULTILINE)) == set(Rule)
