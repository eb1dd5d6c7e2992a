"""Scripts of others: `python -m losslake_service.web.vendored` writes them into static/vendor anew."""

from __future__ import annotations

from pathlib import Path

VEGA = "vega.js"
_FOLDER = Path(__file__).parent / "static" / "vendor"


def vega() -> bytes:
    """Vega, Vega-Lite and vega-embed as the renderer of SVG and PNG has them, so that page and picture agree."""
    import vl_convert

    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return bundle.encode()


if __name__ == "__main__":
    (_FOLDER / VEGA).write_bytes(vega())
