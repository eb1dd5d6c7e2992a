"""Display names and aliases of datasets, models and optimizers, from known_names.csv.

The file has a line for each name: its kind; the collections that call it so, with those below them (empty: all do); its
display name; and its aliases. Collections and aliases are separated by semicolons.
"""

from __future__ import annotations

import csv
import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from losslake_schema.names import Workload
from losslake_schema.package_files import read_text

_FILE = "known_names.csv"
Name = TypeVar("Name", str, Workload)


@dataclass(frozen=True)
class KnownName:
    """A name as people write it. collections: those that call it so, with those below them; empty for all."""

    collections: tuple[str, ...]
    display: str
    aliases: tuple[str, ...]

    def is_in(self, collection: str) -> bool:
        """Return True if the collection calls it so."""
        return not self.collections or any(f"{collection}/".startswith(f"{each}/") for each in self.collections)


@functools.cache
def known_names() -> Mapping[tuple[str, str], KnownName]:
    """Return the known names by kind (collection, dataset, model, optimizer) and stored name."""
    lines = read_text("losslake.questions.release", _FILE).splitlines()
    return {
        (row["kind"], row["name"]): KnownName(_several(row["collections"]), row["display"], _several(row["aliases"]))
        for row in csv.DictReader(lines)
    }


def _several(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(";")))


def display_name(kind: str, workload: Workload) -> str:
    """Return what people call the workload's dataset, model or optimizer: its stored name if nothing is known."""
    return name_of_part(kind, getattr(workload, kind), workload.collection)


def name_of_part(kind: str, name: str, collection: str = "") -> str:
    """Return what people call a stored name of a kind in a collection; without one, in all collections."""
    if kind == "collection":
        return collection_name(name)
    known_name = known_names().get((kind, name))
    return known_name.display if known_name is not None and known_name.is_in(collection) else name


def other_names(workload: Workload) -> list[str]:
    """Return the display names and aliases of the workload's dataset, model and optimizer."""
    known_parts = [known_names().get((kind, getattr(workload, kind))) for kind in ("dataset", "model", "optimizer")]
    used = [each for each in known_parts if each is not None and each.is_in(workload.collection)]
    return [text for each in used for text in (each.display, *each.aliases)]


def collection_name(collection: str) -> str:
    """Return what people call a collection: MLPerf Training; what lies below a known one is appended."""
    parts = collection.split("/")
    for n in range(len(parts), 0, -1):
        known_name = known_names().get(("collection", "/".join(parts[:n])))
        if known_name is not None:
            return " ".join([known_name.display, *parts[n:]])
    return collection


def heading_of(workload: Workload) -> str:
    """Return the heading of pages about the workload: ResNet-50 on ImageNet, LARS · MLPerf Training."""
    dataset, model, optimizer = (display_name(kind, workload) for kind in ("dataset", "model", "optimizer"))
    return f"{model} on {dataset}, {optimizer} \u00b7 {collection_name(workload.collection)}"


def told_apart(shown: Mapping[Name, str]) -> dict[Name, str]:
    """Return what readers see of stored names: of namesakes, it has the stored name, too."""
    namesakes = Counter(shown.values())
    return {name: f"{text} ({name})" if namesakes[text] > 1 else text for name, text in shown.items()}


def labels_of(workloads: Sequence[Workload]) -> tuple[str, list[str]]:
    """Return what the headings of workloads share, and by workload what sets it apart: mlp_64 on Digits; SGD, Adam."""
    if len({(each.model, each.dataset) for each in workloads}) > 1 and len({each.collection for each in workloads}) > 1:
        return "", list(map(heading_of, workloads))
    shared: dict[str, str] = {}
    apart: list[list[str]] = [[] for _ in workloads]
    for kind in ("model", "dataset", "optimizer", "collection"):
        stored = [str(getattr(each, kind)) for each in workloads]
        shown = list(map(collection_name, stored))
        if kind != "collection":
            shown = [display_name(kind, each) for each in workloads]
        namesakes = Counter(text for text, _ in set(zip(shown, stored, strict=True)))
        texts = [f"{text} ({name})" if namesakes[text] > 1 else text for text, name in zip(shown, stored, strict=True)]
        if len(set(stored)) == 1:
            shared[kind] = texts[0]
        else:
            for parts, text in zip(apart, texts, strict=True):
                parts.append(text)
    problem = " on ".join(shared[kind] for kind in ("model", "dataset") if kind in shared)
    common = ", ".join(filter(None, [problem, shared.get("optimizer", "")]))
    both = " \u00b7 ".join(filter(None, [common, shared.get("collection", "")]))
    return both, [", ".join(parts) or heading_of(each) for parts, each in zip(apart, workloads, strict=True)]
