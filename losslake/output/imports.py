"""Imports that commands, services and the processes for SQL do without."""

from __future__ import annotations

import sys


class _NoPandas:
    """A finder of modules for which there is no pandas."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("nothing here needs pandas", name=name)


def without_pandas() -> None:
    """Keep PyArrow from importing pandas, which it does with the first array where pandas is installed.

    That takes 0.2 s and 22 MB.
    """
    sys.meta_path.insert(0, _NoPandas())
