"""Side files of logs (`hparams.yaml`, `config.json`): their keys become fields of the run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import yaml
from yaml.composer import ComposerError

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule, shown
from losslake_ingest.contracts.run_log import Scalar
from losslake_ingest.readers.repeated_keys import RepeatedKey, distinct_pairs
from losslake_ingest.readers.safe_parsing import flattened
from losslake_ingest.sources.member import Refused, Source, UntilBreak

LARGEST_SIDE_FILE = 1 << 20
LARGEST_YAML = 1 << 17
MOST_FIELDS = 10_000
DEEPEST = 16


class SideFiles:
    """The fields in the side files of a source. unreadable: files with such a name that give no fields."""

    def __init__(self, source: Source, names: Sequence[str]) -> None:
        """Read every file with one of these names; links, and unreadable or too large ones, are listed.

        A broken source is read up to the break, which is reported when its runs are read.
        """
        self._names = names
        self._fields: dict[str, Mapping[str, Scalar]] = {}
        self.unreadable: list[Quarantined] = []
        if names:
            members = source.members(lambda path: path.rpartition("/")[2] in names, LARGEST_SIDE_FILE + 1)
            for member in UntilBreak(members):
                name = member.path.rpartition("/")[2]
                if name not in names or (isinstance(member, Refused) and member.rule == Rule.PATH_TRICK):
                    continue
                try:
                    if isinstance(member, Refused):
                        raise ValueError(member.message)
                    self._fields[member.path] = fields_in(member.data, name)
                except ValueError as error:
                    message = f"{' '.join(str(error).split())[:200]}: its fields are unknown, correct or remove it"
                    self.unreadable.append(Quarantined(source.name, member.path, Rule.UNREADABLE_SIDE_FILE, message))
        self._broken = {each.path for each in self.unreadable}

    def beside(self, run: str) -> dict[str, Scalar]:
        """Return the fields for a run, from its folder and those above; the nearest folder with a field wins.

        Of the files in one folder, the one that is named first wins. Raises Refusal if the nearest file of a name can't
        be read, since what those above it say is of other runs.
        """
        fields: dict[str, Scalar] = {}
        nearer: set[str] = set()
        folder = run.partition("#")[0]
        while True:
            for name in self._names:
                path = f"{folder}/{name}".lstrip("/")
                if path in self._broken and name not in nearer:
                    raise Refusal(Rule.UNREADABLE_SIDE_FILE, f"{path} can't be read: correct or remove it")
                if path in self._fields:
                    nearer.add(name)
                    fields = {**self._fields[path], **fields}
            if not folder:
                return fields
            folder = folder.rpartition("/")[0]


def fields_in(data: bytes, name: str) -> dict[str, Scalar]:
    """Return the keys and values of a JSON or YAML file, nested keys joined by dots. Raises ValueError.

    YAML is parsed in pure Python, which is slow, so at most 128 KiB are read.
    """
    largest = LARGEST_SIDE_FILE if name.endswith(".json") else LARGEST_YAML
    if len(data) > largest:
        raise ValueError(f"it has more than {largest:,} bytes")
    try:
        # Not YAML's C loader: deep nesting overflows its stack and crashes the process.
        if name.endswith(".json"):
            document = json.loads(data, object_pairs_hook=distinct_pairs)
        else:
            document = _SafeLoader(data).get_single_data()
    except (ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
        raise ValueError(f"it can't be read ({error})") from None
    leaves = ((name, value) for name, value in flattened(document, DEEPEST) if name and isinstance(value, Scalar))
    try:
        return distinct_pairs(list(islice(leaves, MOST_FIELDS)))
    except RepeatedKey as error:
        raise ValueError(f"it can't be used ({error})") from None


class _SafeLoader(yaml.SafeLoader):
    """PyYAML's loader of plain values, for which a key may be there once: PyYAML keeps the last one."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        repeated = next((key for key, count in keys.items() if count > 1), None)
        if repeated is not None:
            raise ComposerError(None, None, f"{shown(repeated)} is there twice", node.start_mark)
        return node
