from __future__ import annotations

from service.web.static_files import STATIC_FILES
from service.web.vendored import VEGA, vega


def test_pages_draw_with_the_very_vega_that_renders_pictures() -> None:
    assert STATIC_FILES.files[f"vendor/{VEGA}"].content == vega(), "make vendor writes it anew"
