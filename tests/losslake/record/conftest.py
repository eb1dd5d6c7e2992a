from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import losslake.record
from losslake.record.run import Run
from tests.losslake.record.runs import FACTS


@pytest.fixture
def started(tmp_path: Path) -> Callable[..., Run]:
    return lambda **facts: losslake.record.start(**{**FACTS, "folder": tmp_path, **facts})
