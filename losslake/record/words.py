"""The words of `data/`: those of splits and quantities, bounds of quantities, and identifiers of licences."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

_CLOSE = 0.7  # of difflib
_MOST_PROPOSED = 3


@cache
def words() -> Mapping[str, Any]:
    """Return the content of words.toml."""
    import tomllib  # when a run starts: importing the recorder stays quick

    return tomllib.loads(_text("words.toml"))


def settled_metric(name: str) -> str | None:
    """Return the metric split/quantity that a name means wherever it is logged; None if that isn't clear."""
    split, _, quantity = name.partition("/")
    if split in words()["splits"] and quantity and "/" not in quantity:
        return name
    for known, spellings in words()["splits"].items():
        match = re.fullmatch(rf"(?:{'|'.join(spellings)})[/_.\- ](.+)", name.lower())
        if match is not None:
            of_split = re.sub(r"[/.\- ]", "_", match[1])
            matches = (quantity for quantity, same in words()["settled"].items() if of_split in same)
            return next((f"{known}/{quantity}" for quantity in matches), None)
    return "train/grad_norm" if name.lower() == "grad_norm" else None


def proposed_metric(name: str) -> str:
    """Return the metric that a name may mean, for a message; the user has to say whether it does."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    split, rest = "train", plain
    for known, spellings in words()["splits"].items():
        match = re.fullmatch(rf"(?:(?:{'|'.join(spellings)})_)(.+)|(.+)_(?:{'|'.join(spellings)})", plain)
        if match is not None:
            split, rest = known, match[1] or match[2]
            break
    quantities = (quantity for quantity, same in words()["quantities"].items() if rest in same)
    return f"{split}/{next(quantities, rest or 'loss')}"


def bounds_of(metric: str) -> Mapping[str, Any] | None:
    """Return the smallest and largest value of a metric, and its unit; None if it has no bounds."""
    split, _, quantity = metric.partition("/")
    known: Mapping[str, Any] | None = words()["bounds"].get(quantity) if split in words()["splits"] else None
    return known


def spdx_identifier(text: str) -> str | None:
    """Return the identifier of a licence in SPDX's list, in any case; None if there is none. LicenseRef-… is one."""
    if re.fullmatch(r"LicenseRef-[A-Za-z0-9.-]+", text):
        return text
    return next((known for known in _licences() if known.lower() == text.lower()), None)


def nearest_licences(text: str) -> list[str]:
    """Return the identifiers of SPDX's list that are nearest to a text, the nearest first."""
    import difflib

    by_letters: dict[str, str] = {}
    for known in _licences():
        by_letters.setdefault(_letters(known), known)
    if _letters(text) in by_letters:
        return [by_letters[_letters(text)]]
    near = difflib.get_close_matches(_letters(text)[:100], by_letters, _MOST_PROPOSED, _CLOSE)
    return [by_letters[letters] for letters in near]


def _licences() -> list[str]:
    return _text("licences.txt").split()


def _letters(text: str) -> str:
    """Return a text without what people write differently: spaces, hyphens, "version", "licence"."""
    words = re.sub(r"\b(?:licen[cs]e|version|the|international)\b|\bv(?=\d)", " ", text.lower())
    words = re.sub(r"\bcreative commons\b", "cc", words)
    words = re.sub(r"\battribution\b", "by", words)
    return re.sub(r"[^a-z0-9]", "", words)


@cache
def _text(name: str) -> str:
    """Return the text of a file in the folder `data`, also of a package in a zip."""
    data = pkgutil.get_data("losslake.record", f"data/{name}")
    assert data is not None
    return data.decode()
