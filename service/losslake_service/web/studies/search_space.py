"""A search space in words: from which range, or among which values, a metaparameter was drawn."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from losslake_service.web.studies.metaparameters import shown, text_of
from losslake_service.web.templates import significant

_SCALES = {
    "LINEAR_SCALE": "evenly",
    "UNIT_LINEAR_SCALE": "evenly",
    "LOG_SCALE": "evenly in its logarithm",
    "UNIT_LOG_SCALE": "evenly in its logarithm",
    "REVERSE_LOG_SCALE": "denser towards the upper end (reverse logarithmic)",
    "UNIT_REVERSE_LOG_SCALE": "denser towards the upper end (reverse logarithmic)",
}
_MOST_VALUES = 12


def search_space(configs: str | None) -> Mapping[str, str]:
    """By metaparameter, what a study's parameter configs, which are JSON, say of it; empty where they say nothing."""
    try:
        found = json.loads(configs or "{}")
    except ValueError:
        return {}
    return {str(name): _words(config) for name, config in found.items()} if isinstance(found, dict) else {}


def _words(config: Any) -> str:
    if not isinstance(config, dict):
        return shown(text_of(json.dumps(config)))
    points = config.get("feasible_points")
    if isinstance(points, list) and points:
        values = [shown(_value(point)) for point in points[:_MOST_VALUES]]
        return f"one of {', '.join(values)}" + (", \u2026" if len(points) > _MOST_VALUES else "")
    least, most = config.get("min_value"), config.get("max_value")
    if not (_is_number(least) and _is_number(most)):
        return ""
    whole = "a whole number from " if config.get("type") == "INTEGER" else ""
    how = _SCALES.get(str(config.get("scale")), "")
    return f"{whole}{significant(least)} to {significant(most)}" + (f", {how}" if how else "")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _value(point: Any) -> Any:
    return float(point) if _is_number(point) else text_of(json.dumps(point))
