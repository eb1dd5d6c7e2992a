"""SQL about what is stored beside runs."""

from __future__ import annotations

from importlib import resources


def query(name: str) -> str:
    """Return a statement of this folder."""
    return resources.files(__name__).joinpath(f"{name}.sql").read_text("utf-8")
