"""Memory of completely ingested files: the same bytes, given in the same way, are skipped.

A file is recalled only if everything that determines the result of reading it is unchanged: its bytes, its path, the
mapping, the formats, LossLake's code, and the data files of every study in it. In case of doubt it is read. The report
of the remembered ingest is repeated unchanged.
"""

from __future__ import annotations

import functools
import hashlib
import json
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
from losslake.lake.data_files import files_by_study
from losslake.lake.lake import Lake
from losslake.lake.store.store import DataFile
from losslake_ingest.contracts.report import Quarantined, SourceReport
from losslake_ingest.contracts.rules import Rule
from losslake_ingest.formats.format import Format
from losslake_ingest.pipeline.offer import Offer
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.sources.member import Source
from losslake_schema.database import RememberedSource
from losslake_schema.names import Study
from losslake_schema.registry import CollectionMetadata, Direction, Goal

_PACKAGES = (losslake_ingest, losslake_schema, losslake.lake)
_DELETE_BATCH = 500
States = Mapping[str, str]


@dataclass(frozen=True)
class Remembered:
    """The remembered result of reading a file.

    states: the state after the ingest of every study in the file; empty if the study isn't stored. unchanged: the
    source digests of the studies that are stored as the file describes them.
    """

    report: SourceReport
    states: dict[str, str]
    unchanged: dict[str, str]
    quarantined: list[Quarantined] = field(default_factory=list)
    collections: list[CollectionMetadata] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    directions: list[tuple[str, Direction]] = field(default_factory=list)

    def holds_in(self, now: States) -> bool:
        """Return True if all of its studies are still in the remembered state."""
        return all(now.get(study, "") == state for study, state in self.states.items())


_JSON = TypeAdapter(Remembered)


class Memory:
    """The sources that a lake remembers for a request.

    Raises BadMapping or UnknownFormat for an invalid request.
    """

    def __init__(self, lake: Lake, request: Request) -> None:
        self._lake = lake
        self._request = request

    def recall(self, source: Source, files: Sequence[DataFile]) -> Offer | None:
        """Return the remembered offer of a source on top of a release with these files; None if it has to be read."""
        key = self._key(source) if source.total_bytes is not None else None
        if key is None:
            return None
        row = self._lake.read(lambda session: session.get(RememberedSource, key))
        if row is None or row.size != source.total_bytes or row.sha256 != source.expected_sha256():
            return None
        remembered = _JSON.validate_json(row.report)
        if not remembered.holds_in(states(files)):
            return None
        return Offer(
            source,
            remembered.report,
            {facts.collection: facts for facts in remembered.collections},
            remembered.goals,
            remembered.directions,
            row.sha256,
            unchanged={Study.parse(study): digest for study, digest in remembered.unchanged.items()},
            quarantined=remembered.quarantined,
            is_recalled=True,
        )

    def remember(self, offer: Offer, stored: Collection[Study], now: States) -> None:
        """Remember the offer of a completely read source whose studies come from no other source or ingest.

        stored: the studies that are now stored as this ingest offered them. now: the states of all studies.
        """
        size, sha256 = offer.source.total_bytes, offer.sha256
        if size is None or sha256 is None or not offer.is_certain or offer.broken is not None or offer.contributors:
            return
        if any(q.rule in (Rule.DAMAGED_FILE, Rule.WITHDRAWN) for q in offer.quarantined):
            return  # a file that can't be read today may be readable tomorrow, and a withdrawn trial be restored
        key = self._key(offer.source)
        if key is None:
            return
        unchanged = {study: digest for study, digest in offer.unchanged.items() if study not in offer.changes}
        unchanged |= {study: change.source_digest for study, change in offer.changes.items() if study in stored}
        remembered = Remembered(
            offer.report,
            {study: now.get(study, "") for study in sorted(offer.studies)},
            {str(study): digest for study, digest in unchanged.items()},
            offer.quarantined,
            list(offer.collections.values()),
            list(offer.goals),
            list(offer.directions),
        )
        text = _JSON.dump_json(remembered).decode()
        if _JSON.validate_json(text) != remembered:
            return
        # Another ingest may remember the same source at once. A source that isn't remembered is only read again.
        with suppress(SQLAlchemyError), Session(self._lake.engine) as session:
            session.merge(RememberedSource(key=key, size=size, sha256=sha256, report=text))
            session.commit()

    def _key(self, source: Source) -> str | None:
        """Return a digest of everything that determines how a source is read; None if that is unknown.

        None as well for contributors: other ingests may have replaced them, without a change of any study.
        """
        mapping = self._request.mapping_for(source.path)
        if self._request.contributors or mapping.names_contributors:
            return None
        formats = self._request.formats_for(mapping)
        if not are_built_in(formats.values()):
            return None
        place = [str(source.path.resolve()), str(source.path), source.name]
        facts = [code_digest(), place, repr(mapping), self._request.formats, sorted(formats)]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def forget(lake: Lake, dry_run: bool) -> int:
    """Forget the sources that can't be recalled because their studies were rewritten; return their number."""
    rows = _remembered(lake)
    newest = lake.newest_release()  # read after the rows: rows are written after their release
    now = states(lake.files(newest)) if newest is not None else {}
    outdated = [key for key, text in rows if not _JSON.validate_json(text).holds_in(now)]
    if outdated and not dry_run:
        with Session(lake.engine) as session:
            for start in range(0, len(outdated), _DELETE_BATCH):
                batch = RememberedSource.key.in_(outdated[start : start + _DELETE_BATCH])
                session.execute(delete(RememberedSource).where(batch))
            session.commit()
    return len(outdated)


def update_states(lake: Lake, moved: Mapping[str, tuple[str, str]]) -> None:
    """Update the remembered states after data files were rewritten without a change of content.

    moved: the states of each study, before and after.
    """
    rows = _remembered(lake)
    with suppress(SQLAlchemyError), Session(lake.engine) as session:
        for key, text in rows:
            remembered = _JSON.validate_json(text)
            changes = ((study, state, moved.get(study)) for study, state in remembered.states.items())
            now = {study: move[1] if move and move[0] == state else state for study, state, move in changes}
            if now != remembered.states:
                new = _JSON.dump_json(replace(remembered, states=now)).decode()
                same = (RememberedSource.key == key) & (RememberedSource.report == text)
                session.execute(update(RememberedSource).where(same).values(report=new))
        session.commit()


def _remembered(lake: Lake) -> Sequence[tuple[str, str]]:
    """Return the key and the JSON of every remembered source."""
    query = select(RememberedSource.key, RememberedSource.report)
    return lake.read(lambda session: [(key, text) for key, text in session.execute(query)])


def states(files: Sequence[DataFile]) -> dict[str, str]:
    """Return the state of each study: a digest over the names of its data files, which are never reused."""
    return {
        str(study): hashlib.sha256("\n".join(sorted(file.path for file in study_files)).encode()).hexdigest()
        for study, study_files in files_by_study(files).items()
    }


@functools.cache
def code_digest() -> str:
    """Return the SHA-256 over every file of the packages that read logs and define measurements."""
    digest = hashlib.sha256()
    for package in _PACKAGES:
        for folder in sorted(map(Path, package.__path__)):
            for file in sorted(folder.rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    data = file.read_bytes()
                    digest.update(f"{file.relative_to(folder.parent)}\0{len(data)}\0".encode())
                    digest.update(data)
    return digest.hexdigest()


def are_built_in(formats: Collection[Format]) -> bool:
    """Return True if all of these formats are LossLake's own. Other packages' code can change unnoticed."""
    return all(type(log_format).__module__.partition(".")[0] == losslake_ingest.__name__ for log_format in formats)
