"""The text of the statements in `service/queries/`."""

from __future__ import annotations

import functools
from importlib import resources


@functools.cache
def sql(name: str) -> str:
    """The statement of `service/queries/<name>.sql`, without the comment above it."""
    lines = resources.files("service.queries").joinpath(f"{name}.sql").read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("--"))
