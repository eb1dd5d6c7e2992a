"""The formats that are installed: LossLake's own and those of other packages, by entry point `losslake.formats`."""

from __future__ import annotations

import functools
from importlib.metadata import entry_points

from losslake_ingest.errors import UnknownFormat
from losslake_ingest.formats.format import Format

GROUP = "losslake.formats"


@functools.cache
def formats() -> dict[str, Format]:
    """Every installed format by name, in order of names; raises UnknownFormat when one can't be loaded."""
    found: dict[str, Format] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            loaded: Format = point.load()
        except Exception as error:  # noqa: BLE001 - whatever another package's module does when it is imported
            package = point.dist.name if point.dist else point.value
            message = f"the format {point.name!r} of {package} can't be loaded ({error}): repair or remove that package"
            raise UnknownFormat(message) from None
        found[point.name] = loaded
    return found


def format_named(name: str) -> Format:
    """The format of that name; raises UnknownFormat with the names there are."""
    try:
        return formats()[name]
    except KeyError:
        raise UnknownFormat(f"there is no format {name!r}: the formats are {', '.join(formats())}") from None
