"""The format of a response: from the suffix of the path, the parameter `format`, or the header Accept."""

from __future__ import annotations

from fastapi import Request

from losslake.output.formats import FORMATS, OutputFormat
from losslake.questions.release.errors import BadParameter

ENDINGS = {f".{name}": output for name, output in FORMATS.items()}
JSON = FORMATS["json"]
_MAX_ACCEPTED_TYPES = 50
_MEDIA_TYPES = {output.media_type.partition(";")[0]: output for output in FORMATS.values()} | {
    "application/x-parquet": FORMATS["parquet"],
    "*/*": JSON,
    "application/*": JSON,
    "text/*": FORMATS["csv"],
}


def requested_format(request: Request, parameter: str | None) -> OutputFormat:
    """Return the response format: from the path suffix, else from `format=`, else from the header Accept.

    Raise BadParameter if suffix and parameter disagree. An Accept header without a supported type, as browsers send,
    selects JSON.
    """
    ending = ENDINGS.get(f".{request.scope['path'].rpartition('.')[2]}")
    named = FORMATS[parameter] if parameter is not None else None
    if ending is not None and named not in (None, ending):
        raise BadParameter("format", f"the path ends in .{ending.name}, but format={parameter}: give only one of them")
    return ending or named or _accepted(request.headers.get("accept"))


def _accepted(accept: str | None) -> OutputFormat:
    if not accept or accept == "*/*":
        return JSON
    best, best_quality = JSON, 0.0
    for part in accept.split(",")[:_MAX_ACCEPTED_TYPES]:
        media_type, *options = (text.strip().lower() for text in part.split(";"))
        output = _MEDIA_TYPES.get(media_type)
        quality = _quality(options)
        if output is not None and quality > best_quality:
            best, best_quality = output, quality
    return best


def _quality(options: list[str]) -> float:
    text = next((option.removeprefix("q=") for option in options if option.startswith("q=")), "1")
    try:
        return float(text)
    except ValueError:
        return 0.0
