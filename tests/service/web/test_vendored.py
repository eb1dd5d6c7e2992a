from __future__ import annotations

import hashlib

from losslake_service.web.static_files import STATIC_FILES, VEGA, vega
from tests.repository.checkout import ROOT


def test_pages_draw_with_the_very_vega_that_renders_pictures() -> None:
    assert STATIC_FILES.files[f"vendor/{VEGA}"].content == vega(), "make vendor writes it anew"


def test_the_editor_is_made_from_what_its_folder_says() -> None:
    folder = ROOT / "service" / "losslake_service" / "web" / "vendor" / "codemirror"
    sources = b"".join((folder / name).read_bytes() for name in ("entry.js", "package-lock.json"))
    made_from = f"made from {hashlib.sha256(sources).hexdigest()[:16]} "
    head = STATIC_FILES.files["vendor/codemirror.js"].content[:200].decode(errors="replace")
    assert made_from in head, "make vendor writes it anew"
    assert b"://" not in sources
