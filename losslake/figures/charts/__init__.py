"""The charts, one module each: the kind of figure, the panels of an answer, and the function that draws a panel."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from losslake.figures.drawing import Kind


@cache
def kinds() -> tuple[Kind, ...]:
    """Return every kind of figure, in the order of the modules' names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(import_module(f"{__name__}.{name}").KIND for name in names)
