"""The text of the statements in `losslake/questions/queries/`."""

from __future__ import annotations

import functools
from importlib import resources


@functools.cache
def sql(name: str) -> str:
    """The statement of `losslake/questions/queries/<name>.sql`, without the comment above it."""
    lines = resources.files("losslake.questions.queries").joinpath(f"{name}.sql").read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("--"))
