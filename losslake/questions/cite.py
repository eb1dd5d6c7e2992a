"""Citations of the data of workloads: each collection as of a release, `collection@release`, as text and as BibTeX."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

import pyarrow as pa
from pydantic import Field

from losslake.lake.citations import Citation, cite_collection
from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.declaration.parameters import MOST_PLACES, WORKLOAD, ReleaseParameters
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import ReleaseSummary
from losslake.questions.release.parsed_names import parse_workload
from losslake.questions.release.view import ReleaseView
from losslake_schema.contributors import persons
from losslake_schema.names import Workload


class CiteParameters(ReleaseParameters):
    """The parameters of citations."""

    workload: Annotated[list[str], shown([WORKLOAD], max_length=MOST_PLACES)] = Field(default_factory=list)
    """Cite the collections of this workload, or of those that a pattern matches; may be repeated. Default: all."""


class CiteRow(Row):
    """A collection to cite."""

    collection: str
    citation: Annotated[str, shown("bundled@1")]
    """The data in short: collection@release."""
    text: Annotated[str, shown("LossLake developers: bundled batch-size studies on digits, 2026. As bundled@1: …")]
    """The citation as text: that of the collection, its contributors, and the release it was read from."""
    bibtex: Annotated[str, shown("@misc{bundled-release-1, …}")]
    """The same as a BibTeX entry."""
    authors: Annotated[str, shown("LossLake developers")]
    """The authors of the collection: what its citation has before the first colon."""
    title: Annotated[str, shown("Batch-size studies of small networks on handwritten digits")]
    """Title of the collection; its name if none is stated."""
    url: Annotated[str | None, shown("https://arxiv.org/abs/1811.03600")]
    """The place of publication; null if unknown."""
    doi: Annotated[str | None, shown("10.48550/arXiv.1811.03600")]
    """The DOI that the citation or source_url of the collection states; null for none."""
    licence: Annotated[str, shown("Apache-2.0")]
    """Licence of the data, as its source states it."""


@dataclass(frozen=True)
class Citations:
    """Citations of data: a line of text, and an entry of BibTeX, for each collection."""

    text: str
    bibtex: str


def cite(view: ReleaseView, workloads: Iterable[Workload] = (), address: str = "") -> Citations:
    """Return how to cite the data of workloads or patterns; none: of the whole release. Raises UnknownName.

    address: of a service that has the release, for its page in the citations.
    """
    cited = list(_cited(view, workloads, address))
    return Citations("\n".join(each.text for each in cited), "\n\n".join(each.bibtex for each in cited))


def _answer(view: ReleaseView, parameters: CiteParameters) -> Answer:
    """Return a row per collection, by name; raises UnknownName and BadParameter."""
    rows = [vars(each) for each in _cited(view, map(parse_workload, parameters.workload))]
    batch = pa.RecordBatch.from_pylist(rows, QUESTION.rows.schema)
    return Answer({"release": view.number}, batch.schema, iter([batch]))


def _cited(view: ReleaseView, workloads: Iterable[Workload], address: str = "") -> Iterator[Citation]:
    contributors: dict[str, list[tuple[str, str, str]]] = {}
    for collection, *named in view.rows("contributors_of_collections"):
        contributors.setdefault(collection, []).append((named[0], named[1], named[2]))
    names = {facts.workload.collection for pattern in workloads for facts in view.matching(pattern)}
    columns = ("collection", "title", "licence", "citation", "source_url")
    for values in sorted(view.rows("list_collections")):
        row = dict(zip(columns, values, strict=True))
        row["contributors"] = persons(contributors.get(row["collection"], ()))
        if not names or row["collection"] in names:
            yield cite_collection(view.release, row, address)


QUESTION = Question(
    path="/v1/cite",
    doc="How to cite the data of workloads: collection@release as text and BibTeX, with the DOI where one is stated.",
    parameters=CiteParameters,
    row=CiteRow,
    summary=ReleaseSummary,
    compute=_answer,
)
