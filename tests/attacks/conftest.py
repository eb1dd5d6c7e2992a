"""The contribution service that the attacks of a module have in common."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.attacks.contributors import Target, attacked


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    settings = {"segment_seconds": 2.0, "request_seconds": 2.0, "uploads_per_token": 4, "uploads": 16}
    with attacked(tmp_path_factory.mktemp("attacked"), **settings) as found:
        yield found
