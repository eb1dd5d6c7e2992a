"""Which format a request wants: by the ending of its path, by `format=`, or by the header Accept, in this order."""

from __future__ import annotations

from losslake.output.formats import FORMATS, OutputFormat
from losslake.questions.errors import BadParameter

JSON = FORMATS["json"]
ENDINGS = {f".{name}": found for name, found in FORMATS.items()}
_MEDIA_TYPES = {
    "application/json": JSON,
    "text/csv": FORMATS["csv"],
    "application/vnd.apache.arrow.stream": FORMATS["arrow"],
    "application/vnd.apache.parquet": FORMATS["parquet"],
    "application/x-parquet": FORMATS["parquet"],
    "*/*": JSON,
    "application/*": JSON,
    "text/*": FORMATS["csv"],
}


def wanted_format(ending: OutputFormat | None, parameter: str | None, accept: str | None) -> OutputFormat:
    """The format to answer in; raises BadParameter where path and parameter disagree.

    A header that names nothing we have is taken for one that was not meant: browsers send such, and JSON is text.
    """
    named = FORMATS[parameter] if parameter is not None else None
    if ending is not None and named not in (None, ending):
        raise BadParameter("format", f"the path says .{ending.name} and format={parameter}: say it once")
    return ending or named or _accepted(accept)


def _accepted(accept: str | None) -> OutputFormat:
    if not accept or accept == "*/*":
        return JSON
    best, best_quality = JSON, 0.0
    for part in accept.split(",")[:50]:
        media_type, *options = (text.strip().lower() for text in part.split(";"))
        found = _MEDIA_TYPES.get(media_type)
        quality = _quality(options)
        if found is not None and quality > best_quality:
            best, best_quality = found, quality
    return best


def _quality(options: list[str]) -> float:
    text = next((option.removeprefix("q=") for option in options if option.startswith("q=")), "1")
    try:
        return float(text)
    except ValueError:
        return 0.0
