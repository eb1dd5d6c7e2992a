"""Removal of private data from a run before it is sent: each removal is listed, never what was removed."""

from __future__ import annotations

import getpass
import json
import re
import socket
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson

from losslake.record.layout import ELAPSED, STEP, segment_bytes
from losslake.record.numbers import NUMBER_WORDS
from losslake_contributions.client.secrets import announced_kind, clean_text, words_to_remove
from losslake_ingest.readers import private

DROPPED = "left out"
_IDENTITY = ("collection", "dataset", "model", "optimizer")
# What a reader needs as it is, and never comes from a person.
_FIXED = {"format", "licence", "batch_size", "batch_unit", "steps", "started_at"}


@dataclass(frozen=True)
class Removal:
    """Private data that was removed. where: file and field; kind: such as "path"; became: what stands there now."""

    where: str
    kind: str
    became: str

    def __str__(self) -> str:
        return f"{self.where}: {self.kind}, now {self.became}"


class Cleaner:
    """A remover of private data from the texts of one run. words: names of people and machines, with their kind."""

    def __init__(self, words: Mapping[str, str] | None = None, kept: Iterable[str] = ()) -> None:
        self.removals: dict[Removal, None] = {}
        self._words = list(words_to_remove(dict(words or {}), {word.lower() for word in kept}))

    def text(self, text: str, where: str) -> str:
        """Return a text without private data."""
        clean, replaced = clean_text(text)
        for each in replaced:
            self.removals[Removal(where, each.kind, each.became)] = None
        for pattern, kind in self._words:
            clean, count = pattern.subn(f"[{kind}]", clean)
            if count:
                self.removals[Removal(where, kind, f"[{kind}]")] = None
        return clean

    def value(self, value: Any, where: str) -> Any:
        """Return a value of JSON without private data in its texts."""
        if isinstance(value, str):
            return self.text(value, where)
        if isinstance(value, list):
            return [self.value(each, f"{where}[{place}]") for place, each in enumerate(value)]
        if isinstance(value, dict):
            return self.fields(value, where)
        return value

    def fields(self, fields: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Return named values without private data; those whose name announces it are left out."""
        clean: dict[str, Any] = {}
        for key, value in fields.items():
            name = self.text(key, f"{where}: a name")
            place = f"{where}.{name}"
            kind = announced_kind(key, value)
            if kind is not None:
                self.removals[Removal(place, kind, DROPPED)] = None
            else:
                clean[unused_name(name, clean)] = self.value(value, place)
        return clean

    def facts(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the facts of a run.json without private data."""
        clean: dict[str, Any] = {}
        for key, value in facts.items():
            if key in _FIXED:
                clean[key] = value
            elif key == "origin" and isinstance(value, dict):
                clean[key] = self._origin(value)
            else:
                clean[key] = self.value(value, key)
        return clean

    def _origin(self, origin: Mapping[str, Any]) -> dict[str, Any]:
        """Return the origin of a converted run: files by base names, which are numbered where they become equal."""
        files: dict[str, Any] = {}
        for name, digest in origin["files"].items() if isinstance(origin.get("files"), dict) else ():
            files[unused_name(self.text(str(name), "origin.files"), files)] = digest
        return {**{key: self.value(value, f"origin.{key}") for key, value in origin.items()}, "files": files}

    def segment(self, data: bytes) -> bytes:
        """Return lines of a segment in which no metric has a private name; the same bytes if none had one."""
        names: dict[str, str] = {}
        rows: list[dict[str, Any]] = []
        for line in data.split(b"\n"):
            try:
                row = _parsed(line) if line else None
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict):
                rows.append(row)
                new = row.keys() - names.keys() - {STEP, ELAPSED}
                names |= {name: self.text(name, "metrics: a name") for name in new}
        renamed = {name for name, clean in names.items() if name != clean}
        texts = {value for row in rows for value in row.values() if isinstance(value, str)}
        if not renamed and texts <= NUMBER_WORDS.keys():
            return data
        return segment_bytes(
            {
                names.get(name, name): self.value(value, f"metrics.{names.get(name, name)}")
                for name, value in row.items()
            }
            for row in rows
        )


def cleaner_of(facts: Mapping[str, Any], words: Mapping[str, str] | None = None) -> Cleaner:
    """Return the cleaner of a run: what names its study stays. words: further names to remove, by kind."""
    identity = [str(facts.get(name, "")) for name in _IDENTITY]
    kept = {part for name in identity for part in re.split(r"[/\s]+", name)} | set(identity)
    return Cleaner({**_announced_words(facts.get("parameters")), **(words or {})}, kept)


def local_words() -> dict[str, str]:
    """Return the names of this user and this machine, by kind."""
    words = {socket.gethostname(): private.HOST, socket.gethostname().partition(".")[0]: private.HOST}
    with suppress(KeyError, OSError):
        words[getpass.getuser()] = private.USER
    return words


def _announced_words(parameters: object) -> dict[str, str]:
    """Return the names of people and machines that parameters state, which other texts may repeat."""
    if not isinstance(parameters, dict):
        return {}
    kinds = {str(value): announced_kind(str(key), value) for key, value in parameters.items() if isinstance(value, str)}
    return {word: kind for word, kind in kinds.items() if kind in (private.USER, private.HOST) and " " not in word}


def _parsed(line: bytes) -> Any:
    """Return the value of a line, also of one that only Python's parser reads. Raises ValueError."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return json.loads(line)


def unused_name(name: str, taken: Container[str]) -> str:
    """Return a name, with a number if it is taken."""
    number, unused = 1, name
    while unused in taken:
        number += 1
        unused = f"{name} ({number})"
    return unused
