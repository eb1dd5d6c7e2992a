"""What a lake remembers of completely ingested files: the same bytes, offered the same way, are not read again.

A file is recalled only when everything that decides what reading it would say is as it was: its bytes, its place, the
mapping and the formats, the code of LossLake, and the data files of every study that it says something of. Whatever is
not certain is read. What the remembered ingest reported is reported again, in the same words.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import TypeAdapter
from sqlalchemy import delete, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

import losslake.lake
import losslake_ingest
import losslake_schema
from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile
from losslake_ingest.formats.format import Format
from losslake_ingest.offer import Offer
from losslake_ingest.reading import Request
from losslake_ingest.report import Quarantined, SourceReport
from losslake_ingest.rules import Rule
from losslake_ingest.sources.member import Source
from losslake_schema.database import RememberedSource
from losslake_schema.names import Study
from losslake_schema.registry import CollectionFacts, Goal

_PACKAGES = (losslake_ingest, losslake_schema, losslake.lake)
_ROWS_AT_ONCE = 500
States = Mapping[str, str]


@dataclass(frozen=True)
class Remembered:
    """What reading a file brought.

    states: of every study that it says something of, the state in which it left it; empty where it is not stored.
    unchanged: those of them that are stored as it says, with their source digests.
    """

    report: SourceReport
    states: dict[str, str]
    unchanged: dict[str, str]
    quarantined: list[Quarantined] = field(default_factory=list)
    collections: list[CollectionFacts] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)

    def holds_in(self, now: States) -> bool:
        """Return True if all of its studies are still in the state in which it left them."""
        return all(now.get(study, "") == state for study, state in self.states.items())


_JSON = TypeAdapter(Remembered)


class Memory:
    """What a lake remembers, for ingests that ask for the same.

    Raises BadMapping or UnknownFormat for a request that can't be followed.
    """

    def __init__(self, lake: Lake, request: Request) -> None:
        self._lake = lake
        self._request = request

    def recall(self, source: Source, files: Sequence[DataFile]) -> Offer | None:
        """What reading the source would bring, on top of a release with these files; None where it has to be read."""
        manner = self._manner(source) if source.total_bytes is not None else None
        if manner is None:
            return None
        known = self._lake.read(lambda session: session.get(RememberedSource, manner))
        if known is None or known.size != source.total_bytes or known.sha256 != source.expected_sha256():
            return None
        brought = _JSON.validate_json(known.told)
        if not brought.holds_in(states(files)):
            return None
        return Offer(
            source,
            brought.report,
            {facts.collection: facts for facts in brought.collections},
            brought.goals,
            known.sha256,
            unchanged={Study.parse(study): digest for study, digest in brought.unchanged.items()},
            quarantined=brought.quarantined,
            is_recalled=True,
        )

    def remember(self, offer: Offer, stored: Collection[Study], now: States) -> None:
        """Keep what a completely read source brought; its studies may not come from another source or ingest, too.

        stored: the studies of the ingest that are stored now as they were offered. now: the states of all studies.
        """
        size, sha256 = offer.source.total_bytes, offer.sha256
        if size is None or sha256 is None or not offer.is_certain or offer.broken is not None:
            return
        if any(q.rule == Rule.DAMAGED_FILE for q in offer.quarantined):
            return  # what can't be read today may be readable tomorrow
        manner = self._manner(offer.source)
        if manner is None:
            return
        unchanged = {study: digest for study, digest in offer.unchanged.items() if study not in offer.changes}
        unchanged |= {study: change.source_digest for study, change in offer.changes.items() if study in stored}
        brought = Remembered(
            offer.report,
            {study: now.get(study, "") for study in sorted(offer.studies)},
            {str(study): digest for study, digest in unchanged.items()},
            offer.quarantined,
            list(offer.collections.values()),
            list(offer.goals),
        )
        text = _JSON.dump_json(brought).decode()
        if _JSON.validate_json(text) != brought:
            return
        # Another ingest may remember the same at once; and what is not remembered is only read again.
        with suppress(SQLAlchemyError), Session(self._lake.engine) as session:
            session.merge(RememberedSource(manner=manner, size=size, sha256=sha256, told=text))
            session.commit()

    def _manner(self, source: Source) -> str | None:
        """A digest of all that decides how the bytes of a source are read; None where that can't be told."""
        mapping = self._request.mapping_for(source.path)
        formats = self._request.formats_for(mapping)
        if not are_ours(formats.values()):
            return None
        place = [str(source.path.resolve()), str(source.path), source.name]
        facts = [deciding_code(), place, repr(mapping), self._request.formats, sorted(formats)]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def forget(lake: Lake, only_look: bool) -> int:
    """Forget the sources that can't be recalled any more: their studies were written anew. Returns how many."""
    rows = _remembered(lake)
    newest = lake.newest_release()  # read after the rows: what is remembered of a release comes after it
    now = states(lake.files(newest)) if newest is not None else {}
    gone = [manner for manner, text in rows if not _JSON.validate_json(text).holds_in(now)]
    if gone and not only_look:
        with Session(lake.engine) as session:
            for start in range(0, len(gone), _ROWS_AT_ONCE):
                some = RememberedSource.manner.in_(gone[start : start + _ROWS_AT_ONCE])
                session.execute(delete(RememberedSource).where(some))
            session.commit()
    return len(gone)


def follow(lake: Lake, moved: Mapping[str, tuple[str, str]]) -> None:
    """Remember sources also when data files were written anew, without a change of what they say.

    moved: by study, its state before and after.
    """
    rows = _remembered(lake)
    with suppress(SQLAlchemyError), Session(lake.engine) as session:
        for manner, text in rows:
            brought = _JSON.validate_json(text)
            changes = ((study, state, moved.get(study)) for study, state in brought.states.items())
            now = {study: move[1] if move and move[0] == state else state for study, state, move in changes}
            if now != brought.states:
                new = _JSON.dump_json(replace(brought, states=now)).decode()
                same = (RememberedSource.manner == manner) & (RememberedSource.told == text)
                session.execute(update(RememberedSource).where(same).values(told=new))
        session.commit()


def _remembered(lake: Lake) -> Sequence[tuple[str, str]]:
    """By manner, what is remembered of each source."""
    query = select(RememberedSource.manner, RememberedSource.told)
    return lake.read(lambda session: [(manner, told) for manner, told in session.execute(query)])


def states(files: Sequence[DataFile]) -> dict[str, str]:
    """Return what shows that a study was written anew: a digest over its data files' names, which no others get."""
    return {
        str(study): hashlib.sha256("\n".join(sorted(file.path for file in own)).encode()).hexdigest()
        for study, own in files_by_study(files).items()
    }


def files_by_study(files: Sequence[DataFile]) -> dict[Study, list[DataFile]]:
    """Return the data files of each study."""
    of_study: dict[Study, list[DataFile]] = defaultdict(list)
    for file in files:
        if file.study is not None:
            of_study[file.study].append(file)
    return dict(of_study)


@functools.cache
def deciding_code() -> str:
    """Return the sha256 over every file of the packages that read logs and say what a measurement is."""
    digest = hashlib.sha256()
    for package in _PACKAGES:
        for folder in sorted(map(Path, package.__path__)):
            for file in sorted(folder.rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    data = file.read_bytes()
                    digest.update(f"{file.relative_to(folder.parent)}\0{len(data)}\0".encode())
                    digest.update(data)
    return digest.hexdigest()


def are_ours(formats: Collection[Format]) -> bool:
    """Return True if all of these formats are LossLake's own: the code of others may change without a sign."""
    return all(type(one).__module__.partition(".")[0] == losslake_ingest.__name__ for one in formats)
