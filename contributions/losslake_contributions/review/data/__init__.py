"""Tables of the checks: rules and licences."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any


def table(name: str) -> dict[str, Any]:
    """Return a table of this folder."""
    return tomllib.loads(resources.files(__name__).joinpath(f"{name}.toml").read_text("utf-8"))
