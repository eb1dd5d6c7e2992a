"""Real logs of other people, when they lie beside the repository: tests that need them are skipped where they don't."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORPORA = ROOT.parent / "shared" / "corpora"


def corpus(name: str) -> Path:
    """The folder of a corpus; skips the test without it."""
    folder = CORPORA / name
    if not folder.is_dir():
        pytest.skip(f"no {folder.relative_to(ROOT.parent)} beside the repository")
    return folder
