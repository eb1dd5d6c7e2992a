"""LossLake: a database of training-curve measurements. Nothing is imported with it but what is named."""

from __future__ import annotations


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Looked up when it is asked for: reading the package's metadata takes longer than importing this.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("losslake")
    except PackageNotFoundError:
        return "0"
