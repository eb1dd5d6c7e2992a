"""LossLake: a database of training-curve measurements.

>>> import losslake
>>> lake = losslake.open()   # or "https://host", a folder, a lake.toml, two URLs of a bucket
>>> curve = lake.scaling("bundled/digits/mlp_64/nesterov_momentum", target=0.05)
>>> curve.facts["metric"], curve.to_dicts()[0]["steps"]
('val/classification_error', 2417)

Importing it imports no submodule: opening a service needs `losslake`, opening a lake `losslake[lake]`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from losslake.library.lake import Lake
    from losslake_schema.errors import LossLakeError

__version__: str  # read on demand, below
__all__ = ["LossLakeError", "open"]


def open(lake: str | Path | None = None, release: int | None = None) -> Lake:  # noqa: A001
    """Open a lake or a service; the methods of both are the same, and so are their answers.

    lake: the URL of a service; or a folder, a lake.toml, or two URLs, of a database and of a bucket; without it,
    $LOSSLAKE_LAKE, else ./lake. release: its number; without it, the newest at each question.
    Raises LossLakeError where there is none, and where it needs an extra that isn't installed.
    """
    from losslake.library.lake import opened

    return opened(lake, release)


def __getattr__(name: str) -> object:
    if name == "LossLakeError":
        from losslake_schema.errors import LossLakeError

        return LossLakeError
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Read lazily: reading the package's metadata takes longer than importing this module.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("losslake")
    except PackageNotFoundError:
        return "0"
