"""Removal of private data from a run before it is sent: each removal is listed, never what was removed."""

from __future__ import annotations

import getpass
import json
import re
import socket
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

import orjson

from losslake.record.layout import ELAPSED, STEP, segment_bytes
from losslake.record.numbers import NUMBER_WORDS, json_number
from losslake_contributions.client.secrets import Replaced, announced_kind, clean_text, words_to_remove
from losslake_ingest.readers import private

DROPPED = "left out"
_IDENTITY = ("collection", "dataset", "model", "optimizer")
# What a reader needs as it is, and never comes from a person.
_FIXED = {"format", "licence", "batch_size", "batch_schedule", "batch_unit", "steps", "started_at"}
_FIXED_OF_END = {"status", "ended_at", "segments"}
_SHA256 = re.compile(r"[0-9a-f]{64}")
# What replaces a text in which each removal brings about another one.
_UNCLEAN = f"[{private.SECRETS}]"
_MOST_ROUNDS = 10


@dataclass(frozen=True)
class Removal:
    """Private data that was removed. where: file and field; kind: such as "path"; became: what stands there now."""

    where: str
    kind: str
    became: str

    def __str__(self) -> str:
        return f"{self.where}: {self.kind}, now {self.became}"


class Cleaner:
    """A remover of private data from the texts of one run. words: names of people and machines, with their kind.

    What it returns has nothing left for it to remove, nor for a cleaner without words, as the service's is: each text
    is cleaned until nothing is replaced, and a name is looked at as it came and as it is sent.
    """

    def __init__(self, words: Mapping[str, str] | None = None, kept: Iterable[str] = ()) -> None:
        self.removals: dict[Removal, None] = {}
        self._words = list(words_to_remove(dict(words or {}), {word.lower() for word in kept}))

    def text(self, text: str, where: str) -> str:
        """Return a text without private data."""
        for _ in range(_MOST_ROUNDS):
            clean, replaced = self._cleaned(text)
            for each in replaced:
                self.removals[Removal(where, each.kind, each.became)] = None
            if not replaced:
                return text
            text = clean
        self.removals[Removal(where, private.SECRETS, _UNCLEAN)] = None
        return _UNCLEAN

    def _cleaned(self, text: str) -> tuple[str, list[Replaced]]:
        """Return a text after one round, and what was replaced."""
        clean, replaced = clean_text(text)
        for pattern, kind in self._words:
            mark = f"[{kind}]"
            clean, count = pattern.subn(mark, clean)
            replaced += [Replaced(kind, mark)] * bool(count)
        return clean, replaced

    def value(self, value: Any, where: str) -> Any:
        """Return a value of JSON without private data in its texts."""
        if isinstance(value, str):
            return self.text(value, where)
        if isinstance(value, list):
            return [self.value(each, f"{where}[{place}]") for place, each in enumerate(value)]
        if isinstance(value, dict):
            return self.fields(value, where)
        return json_number(value) if isinstance(value, float) else value

    def fields(self, fields: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Return named values without private data; those whose name announces it are left out."""
        clean: dict[str, Any] = {}
        for key, value in fields.items():
            name = self._name(key, clean, where)
            place = f"{where}.{name}"
            kind = announced_kind(key, value)
            remaining = self.value(value, place) if kind is None else None
            kind = kind or announced_kind(name, remaining)
            if kind is None:
                clean[name] = remaining
            else:
                self.removals[Removal(place, kind, DROPPED)] = None
        return clean

    def _name(self, name: str, taken: Container[str], where: str) -> str:
        """Return a name without private data, with a number if it is taken."""
        clean = self.text(name, f"{where}: a name")
        return next(each for each in numbered(clean) if each not in taken and (each == clean or self._is_clean(each)))

    def _is_clean(self, text: str) -> bool:
        return not self._cleaned(text)[1]

    def facts(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the facts of a run.json without private data."""
        clean: dict[str, Any] = {}
        for key, value in facts.items():
            if key in _FIXED:
                clean[key] = value
            elif key == "origin" and isinstance(value, dict):
                clean[key] = {name: self._of_origin(name, each) for name, each in value.items()}
            else:
                clean[key] = self.value(value, key)
        return clean

    def _of_origin(self, key: str, value: Any) -> Any:
        """Return a value of the origin of a converted run. A digest of a file is one, whatever the file is called."""
        if key != "files" or not isinstance(value, dict):
            return self.value(value, f"origin.{key}")
        files: dict[str, Any] = {}
        for file, digest in value.items():
            name = self._name(file, files, "origin.files")
            is_digest = isinstance(digest, str) and _SHA256.fullmatch(digest)
            files[name] = digest if is_digest else self.value(digest, f"origin.files.{name}")
        return files

    def end(self, end: Mapping[str, Any]) -> dict[str, Any]:
        """Return how a run ended, as end.json has it, without private data."""
        return {key: value if key in _FIXED_OF_END else self.value(value, key) for key, value in end.items()}

    def segment(self, data: bytes) -> bytes:
        """Return lines of a segment in which nothing is private; the same bytes if nothing was."""
        names: dict[str, str] = {STEP: STEP, ELAPSED: ELAPSED}
        taken = set(names)
        rows: list[dict[str, Any]] = []
        is_clean = True
        for line in data.split(b"\n"):
            try:
                row = _parsed(line) if line else None
            except (ValueError, RecursionError):
                continue
            if not isinstance(row, dict):
                continue
            rows.append(row)
            for name in row:
                if name not in names:
                    names[name] = self._name(name, taken, "metrics")
                    taken.add(names[name])
                    is_clean &= names[name] == name
            is_clean &= all(map(_is_number, row.values()))
        if is_clean:
            return data
        clean = [{names[name]: self._cell(value, names[name]) for name, value in row.items()} for row in rows]
        return data if clean == rows else segment_bytes(clean)

    def _cell(self, value: Any, metric: str) -> Any:
        return value if isinstance(value, str) and value in NUMBER_WORDS else self.value(value, f"metrics.{metric}")


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


def numbered(name: str) -> Iterator[str]:
    """Yield a name, and then the name with a number, from 2 on."""
    yield name
    yield from (f"{name} ({number})" for number in count(2))


def unused_name(name: str, taken: Container[str]) -> str:
    """Return a name, with a number if it is taken."""
    return next(each for each in numbered(name) if each not in taken)


def _is_number(value: object) -> bool:
    """Return True for a cell of a segment without a text: a number, a word for one, true, false or null."""
    return value is None or isinstance(value, int | float) or (isinstance(value, str) and value in NUMBER_WORDS)
