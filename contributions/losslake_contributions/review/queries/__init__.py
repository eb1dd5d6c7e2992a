"""SQL about the runs of a draft, and about what is stored beside them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import Any

import pyarrow as pa

from losslake.questions.release.view import ReleaseView


def query(view: ReleaseView, name: str, parameters: Mapping[str, Any] | None = None) -> pa.Table:
    """Return the result of the statement of this name, as of a release."""
    statement = resources.files(__name__).joinpath(f"{name}.sql").read_text("utf-8")
    return view.cursor().sql(statement, params=parameters).to_arrow_table()
