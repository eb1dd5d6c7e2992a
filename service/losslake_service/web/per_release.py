"""Values that pages need of a release: made once, and kept as long as the release is open."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from losslake.questions.release.view import ReleaseView

Made = TypeVar("Made")


def once_per_release(make: Callable[[ReleaseView], Made]) -> Callable[[ReleaseView], Made]:
    """Return a function of a release that is called once for each."""
    values: WeakKeyDictionary[ReleaseView, Made] = WeakKeyDictionary()

    @wraps(make)
    def value(view: ReleaseView) -> Made:
        if view not in values:
            values[view] = make(view)
        return values[view]

    return value
