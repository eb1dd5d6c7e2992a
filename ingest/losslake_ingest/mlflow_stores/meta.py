"""meta.yaml of MLflow's file store: a flat mapping, as text."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

LARGEST_META = 2**14
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_NO_VALUE = ("", "~", "null")


def flat_yaml(data: bytes) -> dict[str, str | None]:
    """The scalars of a YAML mapping as text, what is nested left out; raises ValueError.

    Read from the parser's events, so that no nesting, alias or tag does anything.
    """
    if len(data) > LARGEST_META:
        raise ValueError(f"it has {len(data):,} bytes, at most {LARGEST_META:,} are read")
    try:
        nodes = list(_nodes_of_mapping(data))
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
    except UnicodeDecodeError as error:
        raise ValueError(f"it is no UTF-8: {error.reason}") from None
    pairs = zip(nodes[::2], nodes[1::2], strict=False)
    return {key.value: _text(value) for key, value in pairs if key is not None}


def _nodes_of_mapping(data: bytes) -> Iterator[yaml.ScalarEvent | None]:
    """The keys and values of the mapping in turn; None for what is no scalar."""
    depth = 0
    for event in yaml.parse(data, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            if depth == 0 and not isinstance(event, yaml.MappingStartEvent):
                raise ValueError("it is no mapping")
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
            if depth == 1:
                yield None
        elif isinstance(event, yaml.NodeEvent):
            if depth == 0:
                raise ValueError("it is no mapping")
            if depth == 1:
                yield event if isinstance(event, yaml.ScalarEvent) else None


def _text(event: yaml.ScalarEvent | None) -> str | None:
    if event is None or (not event.style and event.value in _NO_VALUE):
        return None
    value: str = event.value
    return value
