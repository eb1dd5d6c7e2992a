"""The compose files, read as Docker Compose reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import yaml

from tests.repository.checkout import ROOT

PRODUCTION = "docker-compose.yml"
DEVELOPMENT = "docker-compose.override.yml"


class _Reset:
    """Stands for what the file beneath says and this one takes away."""


class _Override(dict[str, Any]):
    """Stands in place of what the file beneath says, instead of being merged with it."""


class _Loader(yaml.SafeLoader):
    pass


def _reset(loader: yaml.SafeLoader, node: yaml.Node) -> type[_Reset]:
    return _Reset


def _override(loader: yaml.SafeLoader, node: yaml.Node) -> _Override:
    value: Any
    if isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        assert isinstance(node, yaml.MappingNode)
        value = loader.construct_mapping(node, deep=True)
    return _Override(value=value)


_Loader.add_constructor("!reset", _reset)
_Loader.add_constructor("!override", _override)


def read(name: str) -> Any:
    """A file alone, without what it takes away and with what it puts in place of something."""
    return _settled(_loaded(name))


def merged() -> Any:
    """What the file for development makes of the one for production."""
    return _settled(_merge(_loaded(PRODUCTION), _loaded(DEVELOPMENT)))


def published_schema() -> Any:
    """The schema that the Compose specification publishes."""
    file = distribution("check-jsonschema").locate_file("check_jsonschema/builtin_schemas/vendor/compose-spec.json")
    return json.loads(Path(str(file)).read_text("utf-8"))


def filled_in(text: str, environment: Mapping[str, str]) -> str:
    """A value with its variables, of which each has a default."""

    def value(found: re.Match[str]) -> str:
        return environment.get(found["name"]) or found["default"]

    return re.sub(r"\$\{(?P<name>\w+):-(?P<default>[^}]*)\}", value, text).replace("$$", "$")


def _loaded(name: str) -> Any:
    return yaml.load((ROOT / name).read_text(), _Loader)


def _merge(beneath: Any, above: Any) -> Any:
    if isinstance(above, _Override) or not isinstance(beneath, dict) or not isinstance(above, dict):
        return above
    return beneath | {key: _merge(beneath.get(key), value) for key, value in above.items()}


def _settled(value: Any) -> Any:
    if isinstance(value, _Override):
        return value["value"]
    if isinstance(value, dict):
        return {key: _settled(one) for key, one in value.items() if one is not _Reset}
    return [_settled(one) for one in value] if isinstance(value, list) else value
