"""The TOML files of the website: words and tables that its code reads."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def toml_file(path: str) -> dict[str, Any]:
    """Return the content of a file. path: below this folder."""
    return tomllib.loads(resources.files(__package__).joinpath(path).read_text("utf-8"))
