from __future__ import annotations

import hashlib

import pytest

from losslake_service.web.static_files import STATIC_FILES, VEGA, vega
from tests.repository.checkout import ROOT


@pytest.mark.slow
def test_pages_and_renderer_use_the_same_vega_version() -> None:
    assert STATIC_FILES.files[f"vendor/{VEGA}"].content == vega(), "make vendor writes it anew"


@pytest.mark.parametrize("name", ["codemirror", "d3"])
def test_bundle_matches_its_sources(name: str) -> None:
    folder = ROOT / "service" / "losslake_service" / "web" / "vendor" / name
    sources = b"".join((folder / each).read_bytes() for each in ("entry.js", "package-lock.json"))
    made_from = f"made from {hashlib.sha256(sources).hexdigest()[:16]} "
    head = STATIC_FILES.files[f"vendor/{name}.js"].content[:200].decode(errors="replace")
    assert made_from in head, "make vendor writes it anew"
    assert b"://" not in sources
