"""Side files of logs (`hparams.yaml`, `config.json`): their keys become fields of the run."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from itertools import islice

import yaml

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_ingest.contracts.run_log import Scalar
from losslake_ingest.readers.safe_parsing import flattened
from losslake_ingest.sources.member import Refused, Source, UntilBreak

LARGEST_SIDE_FILE = 1 << 20
LARGEST_YAML = 1 << 17
MOST_FIELDS = 10_000
DEEPEST = 16


class SideFiles:
    """The fields in the side files of a source, by folder. unreadable: files with such a name that give no fields."""

    def __init__(
        self, folders: Mapping[str, Mapping[str, Scalar]], readable: Collection[str], unreadable: Sequence[Quarantined]
    ) -> None:
        """Take the fields by folder. readable: the paths of the files that have them."""
        self._folders = folders
        self._readable = readable
        self.unreadable = unreadable
        self._broken = {each.path for each in unreadable}
        self._names = {path.rpartition("/")[2] for path in (*readable, *self._broken)}

    @staticmethod
    def read(source: Source, names: Sequence[str]) -> SideFiles:
        """Read every file with one of these names; links, and unreadable or too large ones, are listed.

        A broken source is read up to the break, which is reported when its runs are read.
        """
        folders: dict[str, dict[str, Scalar]] = {}
        readable: set[str] = set()
        unreadable: list[Quarantined] = []
        if names:
            members = source.members(lambda path: path.rpartition("/")[2] in names, LARGEST_SIDE_FILE + 1)
            for member in UntilBreak(members):
                folder, _, name = member.path.rpartition("/")
                if name not in names or (isinstance(member, Refused) and member.rule == Rule.PATH_TRICK):
                    continue
                try:
                    if isinstance(member, Refused):
                        raise ValueError(member.message)
                    folders.setdefault(folder, {}).update(fields_in(member.data, name))
                    readable.add(member.path)
                except ValueError as error:
                    message = f"{' '.join(str(error).split())[:200]}: its fields are unknown, correct or remove it"
                    unreadable.append(Quarantined(source.name, member.path, Rule.UNREADABLE_SIDE_FILE, message))
        return SideFiles(folders, readable, unreadable)

    def beside(self, run: str) -> dict[str, Scalar]:
        """Return the fields for a run, from its folder and those above; the nearest folder with a field wins.

        Raises Refusal if the nearest file of a name can't be read, since what those above it say is of other runs.
        """
        fields: dict[str, Scalar] = {}
        nearer: set[str] = set()
        folder = run.partition("#")[0]
        while True:
            for path in (f"{folder}/{name}".lstrip("/") for name in sorted(self._names - nearer)):
                if path in self._broken:
                    raise Refusal(Rule.UNREADABLE_SIDE_FILE, f"{path} can't be read: correct or remove it")
                if path in self._readable:
                    nearer.add(path.rpartition("/")[2])
            fields = {**self._folders.get(folder, {}), **fields}
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
        document = json.loads(data) if name.endswith(".json") else yaml.safe_load(data)
    except (ValueError, TypeError, RecursionError, yaml.YAMLError) as error:
        raise ValueError(f"it can't be read ({error})") from None
    leaves = ((name, value) for name, value in flattened(document, DEEPEST) if name and isinstance(value, Scalar))
    return dict(islice(leaves, MOST_FIELDS))
