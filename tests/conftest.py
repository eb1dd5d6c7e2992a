"""For every test: no deadline for examples, since a busy machine is not a fault; little collection of garbage."""

from __future__ import annotations

import gc

import pytest
from hypothesis import settings

settings.register_profile("losslake", deadline=None)
settings.load_profile("losslake")
gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave what was imported and collected alone: to look through it again and again takes a tenth of the time."""
    gc.freeze()
    gc.enable()
