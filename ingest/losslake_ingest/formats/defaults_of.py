"""The mapping that a format of ours brings along."""

from __future__ import annotations

from importlib import resources


def defaults_of(name: str) -> str:
    """The TOML text of a format's own mapping."""
    return resources.files("losslake_ingest.formats.defaults").joinpath(f"{name}.toml").read_text("utf-8")
