from __future__ import annotations

import json
from urllib.request import urlopen

from tests.service.running import SECONDS, Running

SLOW_TO_IMPORT = {"altair", "pyiceberg", "scipy.optimize", "scipy.special", "scipy.stats", "vl_convert"}


def test_it_starts_without_what_takes_long_to_import_and_few_requests_need(running: Running) -> None:
    with urlopen(f"{running.url}/imported", timeout=SECONDS) as response:
        assert SLOW_TO_IMPORT.isdisjoint(json.load(response))
