"""Filter for personal and machine data in logs, by a key's name or a value; only its kind is noted.

A false positive costs one field of a run; a false negative would publish private data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from losslake_ingest.contracts.run_log import Scalar
from losslake_schema.package_files import read_toml

LONGEST_TEXT = 2000

EMAIL, USER, HOST, ENTITY = "e-mail", "user name", "host name", "entity"
CODE, GIT, ENVIRONMENT, PATHS, SECRETS = "code and command line", "git", "environment", "path", "secret"
CONSOLE, INTERNAL, NOTES = "console output", "W&B internals", "notes"

_RULES = read_toml("losslake_ingest.readers", "private.toml")
_NAMES = [(re.compile(f"_(?:{words})_"), str(kind)) for kind, words in _RULES["names"].items()]
_PARENTS: dict[str, str] = _RULES["parents"]
_VALUES = [(re.compile(pattern), str(kind)) for pattern, kind in _RULES["values"]["patterns"]]
# A tokenizer's own tokens are parameters.
_HARMLESS_TOKEN = re.compile(r"_(?:pad|bos|eos|unk|sep|cls|mask|image|start|stop|end|special)_token_")
_VARIABLE = re.compile(r"(?:env|environment)\.[A-Z][A-Z0-9_]*")
# Names that identify nobody, and words too short to be distinctive.
_EVERYONE = {"root", "user", "admin", "ubuntu", "localhost", "jovyan", "docker", "runner"}
_SHORTEST_WORD = 4
_WORD_ENDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^0-9A-Za-z]+")


def private_text(text: str) -> str | None:
    """Return the kind of personal or machine data in a text; None if there seems to be none."""
    return next((kind for pattern, kind in _VALUES if pattern.search(text)), None)


def private_key(key: str, is_text: bool) -> str | None:
    """Return the kind of personal or machine data that a key (parts joined by `.`) announces; None if none."""
    *parents, last = key.split(".")
    for part in (*parents, last):
        if part.lower() in _PARENTS and (parents or part.startswith("_") or is_text):
            return _PARENTS[part.lower()]
    if _VARIABLE.search(key):
        return ENVIRONMENT
    if not is_text:
        return None
    words = "_".join(word.lower() for word in _WORD_ENDS.split(last) if word)
    name = _HARMLESS_TOKEN.sub("_", f"_{words}_")
    return next((kind for pattern, kind in _NAMES if pattern.search(name)), None)


def is_distinctive(word: str) -> bool:
    """Return True for the name of a person or machine that no other word or machine is likely to have."""
    return len(word) >= _SHORTEST_WORD and word.lower() not in _EVERYONE


def without_words(fields: Mapping[str, Scalar], words: Mapping[str, str]) -> tuple[dict[str, Scalar], set[str]]:
    """Return the fields whose key and value contain none of the words, and the kinds of words that were found."""
    patterns = [
        (re.compile(rf"(?<![0-9A-Za-z]){re.escape(word)}(?![0-9A-Za-z])", re.IGNORECASE), kind)
        for word, kind in words.items()
        if is_distinctive(word)
    ]
    remaining: dict[str, Scalar] = {}
    kinds: set[str] = set()
    for key, value in fields.items():
        kind = next((kind for pattern, kind in patterns if pattern.search(f"{key}\n{value}")), None)
        if kind is None:
            remaining[key] = value
        else:
            kinds.add(kind)
    return remaining, kinds
