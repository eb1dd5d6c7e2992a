"""The data files of packages, read wherever the code is: Spark's executors get it in a zip."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def read_text(package: str, path: str) -> str:
    """Return the text of a file. path: below the folder of the package."""
    return resources.files(package).joinpath(path).read_text("utf-8")


@cache
def read_toml(package: str, path: str) -> dict[str, Any]:
    """Return the content of a TOML file, which callers leave as it is. path: below the folder of the package."""
    return tomllib.loads(read_text(package, path))
