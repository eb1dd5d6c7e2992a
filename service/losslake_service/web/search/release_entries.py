"""The entries of a release: collections, MLPerf results of a vendor or round, workloads and studies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from losslake.questions.release.known_names import collection_name, display_name, heading_of, other_names
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_words import batch_sizes_of
from losslake.questions.results.rules import SUITES
from losslake_schema.names import Study, Workload
from losslake_schema.quantities import counted
from losslake_service.web.per_release import once_per_release
from losslake_service.web.search.matching import Entry, Query, folded
from losslake_service.web.templates import page_path

RESULTS = "/results"
_RESULTS, _COLLECTION, _WORKLOAD = 0.3, 0.2, 0.2
# The facts of trials by which the page of results filters: the kind of entry, and the parameter.
_FACTS = {
    "org": ("Organisation", "organisation"),
    "accelerator": ("Accelerator", "accelerator"),
    "benchmark": ("Benchmark", "benchmark"),
    "round": ("MLPerf round", "round"),
}


@dataclass(frozen=True)
class WorkloadEntry:
    """A workload. sizes: its trials by batch size."""

    workload: Workload
    entry: Entry
    sizes: Mapping[int, int]

    def match(self, query: Query) -> tuple[float, Entry]:
        """Return the score and what is found: a study if a word names a batch size. The words are known to match."""
        strengths: list[float] = []
        size = None
        for word in query.words:
            best = [self.entry.strength(token) for token in folded(word)]
            named = batch_sizes_of(word) & self.sizes.keys()
            if named and not all(strength == 1 for strength in best):
                size, best = max(named), [1.0]
            # A word within names and marks, which matches without being one of the folded words.
            strengths += [strength or 0.2 for strength in best]
        entry = self.entry if size is None else self._study(size)
        return entry.total(strengths, query), entry

    def _study(self, size: int) -> Entry:
        study = Study(self.workload, size)
        title, n = f"{self.entry.title}, batch size {size:,}", self.sizes[size]
        found = replace(self.entry, kind="Study", title=title, path=page_path(study))
        return replace(found, note=counted(n, "trial"), n_trials=n)


@once_per_release
def workload_entries(view: ReleaseView) -> Mapping[Workload, WorkloadEntry]:
    """Return the listed workloads of a release."""
    facts: dict[Workload, dict[str, None]] = defaultdict(dict)
    for workload, _, text, _ in _facts(view):
        facts[workload][text] = None
    sizes: dict[Workload, dict[int, int]] = defaultdict(dict)
    columns = ("collection", "dataset", "model", "optimizer", "batch_size", "n_trials")
    studies = view.table("list_studies", {}).select(columns).to_pydict().values()
    for *keys, size, n_trials in zip(*studies, strict=True):
        sizes[Workload(*keys)][size] = n_trials

    def entry(workload: Workload, measured: Sequence[str]) -> Entry:
        return _entry(workload, measured, facts[workload], sum(sizes[workload].values()))

    return {
        workload: WorkloadEntry(workload, entry(workload, known.measured), sizes[workload])
        for workload, known in view.listed.items()
    }


def _entry(workload: Workload, measured: Sequence[str], facts: Iterable[str], n_trials: int) -> Entry:
    parts = (display_name(kind, workload) for kind in ("dataset", "model", "optimizer"))
    return Entry(
        "Workload",
        heading_of(workload),
        page_path(workload),
        counted(n_trials, "trial"),
        # val/word_error_rate is called the word error rate.
        names=(*other_names(workload), *parts, *{metric.partition("/")[2] for metric in measured}),
        details=(str(workload), *measured, *facts),
        n_trials=n_trials,
        weight=_WORKLOAD,
    )


@once_per_release
def grouped_entries(view: ReleaseView) -> Sequence[Entry]:
    """Return the collections of a release, and the organisations, accelerators, benchmarks, rounds of its results."""
    return (*_collections(view), *_results(view), _citation(view))


def _collections(view: ReleaseView) -> Iterator[Entry]:
    n_trials: dict[str, int] = defaultdict(int)
    for workload, each in workload_entries(view).items():
        n_trials[workload.collection] += each.entry.n_trials
    for name, n in n_trials.items():
        shown, query = collection_name(name), (("collection", name),)
        yield Entry(
            "Collection", shown, "/workloads", counted(n, "trial"), query, names=(name,), n_trials=n, weight=_COLLECTION
        )


def _results(view: ReleaseView) -> Iterator[Entry]:
    n_trials: dict[tuple[str, str], dict[Workload, int]] = defaultdict(lambda: defaultdict(int))
    for workload, fact, text, n in _facts(view):
        if fact in _FACTS and workload.collection.partition("/")[0] in SUITES:
            n_trials[fact, text][workload] += n
    for (fact, text), by_workload in n_trials.items():
        kind, parameter = _FACTS[fact]
        value = text.removeprefix("v") if fact == "round" else text
        n, names = sum(by_workload.values()), list(_names(fact, value, max(by_workload, key=by_workload.__getitem__)))
        yield Entry(
            kind,
            f"MLPerf results: {names[0]}",
            RESULTS,
            counted(n, "run"),
            ((parameter, value),),
            names=names,
            n_trials=n,
            weight=0.0 if fact == "benchmark" else _RESULTS,
            group=kind if fact == "benchmark" else "",
        )


def _names(fact: str, value: str, largest: Workload) -> Iterator[str]:
    """Yield what people call an organisation, accelerator, benchmark or round, the name for readers first."""
    if fact == "round":
        numbers = (f"v{value}", value)
        yield from (f"{start}{number}" for start in ("", "MLPerf ", "MLPerf Training ", "round ") for number in numbers)
    elif fact == "benchmark":
        yield from (display_name("model", largest), value)
    elif fact == "org":
        yield value.replace("_", " ")
        yield value
    else:
        # NVIDIA H100 is the H100, Google TPU v4 the TPU v4.
        yield from (value, value.partition(" ")[2] or value)


def _citation(view: ReleaseView) -> Entry:
    names = ("cite", "citation", "BibTeX", "DOI", "reference this data")
    return Entry(
        "Page", "How to cite", f"/releases/{view.number}", f"Release {view.number}", anchor="cite", names=names,
        weight=_RESULTS,
    )  # fmt: skip


def _facts(view: ReleaseView) -> Iterator[tuple[Workload, str, str, int]]:
    """Yield the facts of trials of listed workloads."""
    return (each for each in view.searched_facts() if each[0] in view.listed)
