"""SQL about the runs of a draft, and about what is stored beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from losslake.questions.release.view import ReleaseView
from losslake_schema.package_files import read_text


def query(view: ReleaseView, name: str, parameters: Mapping[str, Any] | None = None) -> pa.Table:
    """Return the result of the statement of this name, as of a release."""
    statement = read_text(__name__, f"{name}.sql")
    return view.cursor().sql(statement, params=parameters).to_arrow_table()
