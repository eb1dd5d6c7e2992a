"""The data of the data model: tables, metrics, collections, goals and roles, and the texts of exports."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def read_text(name: str) -> str:
    """Return the text of a file in this folder."""
    return resources.files(__name__).joinpath(name).read_text("utf-8")


def read_toml(name: str) -> dict[str, Any]:
    """Return the content of a TOML file in this folder."""
    return tomllib.loads(read_text(name))
