"""Files that lie beside a log and say more of its run (`hparams.yaml`, `config.json`): their keys become fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import yaml

from losslake_ingest.run_log import Scalar
from losslake_ingest.sources.member import Member, Source, UntilBreak

LARGEST_SIDE_FILE = 1 << 20
LARGEST_YAML = 1 << 17
MOST_FIELDS = 10_000
DEEPEST = 16


class SideFiles:
    """What the side files of a source say, by folder."""

    def __init__(self, folders: Mapping[str, Mapping[str, Scalar]]) -> None:
        self._folders = folders

    @staticmethod
    def read(source: Source, names: Sequence[str]) -> SideFiles:
        """Read every file of these names; one that is too large, or can't be read, says nothing.

        Of a source that breaks off, what came before counts: reading its runs will tell of the break.
        """
        folders: dict[str, dict[str, Scalar]] = {}
        if names:
            members = source.members(lambda path: path.rpartition("/")[2] in names, LARGEST_SIDE_FILE + 1)
            for member in UntilBreak(members):
                if isinstance(member, Member) and len(member.data) <= LARGEST_SIDE_FILE:
                    folder, _, name = member.path.rpartition("/")
                    folders.setdefault(folder, {}).update(fields_in(member.data, name))
        return SideFiles(folders)

    def beside(self, run: str) -> dict[str, Scalar]:
        """The fields for a run: of its own folder, then of those above it; the nearest to say a field wins."""
        fields: dict[str, Scalar] = {}
        folder = run.partition("#")[0]
        while True:
            fields = {**self._folders.get(folder, {}), **fields}
            if not folder:
                return fields
            folder = folder.rpartition("/")[0]


def fields_in(data: bytes, name: str) -> dict[str, Scalar]:
    """The keys of a JSON or YAML file with their values, nested ones joined by dots; nothing if it can't be read.

    YAML is read by Python alone, which is slow: at most 128 KiB of it.
    """
    try:
        if name.endswith(".json"):
            document = json.loads(data)
        else:
            # Not the C loader: it overflows its stack on deep nesting and takes the process with it.
            document = yaml.safe_load(data) if len(data) <= LARGEST_YAML else None
    except (ValueError, TypeError, RecursionError, yaml.YAMLError):
        return {}
    return dict(islice(_flat(document, "", 0), MOST_FIELDS))


def _flat(value: Any, prefix: str, depth: int) -> Iterator[tuple[str, Scalar]]:
    if isinstance(value, dict) and depth < DEEPEST:
        for key, inner in value.items():
            yield from _flat(inner, f"{prefix}.{key}" if prefix else str(key), depth + 1)
    elif isinstance(value, (str, int, float, bool)) and prefix:
        yield prefix, value
