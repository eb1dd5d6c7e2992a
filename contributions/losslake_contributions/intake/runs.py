"""Contributions: created, filled with segments, finished. Each step may be repeated and gives the same result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from losslake.lake.lake import Lake
from losslake_contributions.intake.open_segments import count_only_open, delete_segment, delete_segments
from losslake_contributions.intake.segment_files import store_segment
from losslake_contributions.people import quotas
from losslake_contributions.people.tokens import Identity
from losslake_contributions.protocol.contributions import (
    ContributionStatus,
    Finish,
    HeldSegments,
    RunFacts,
    Segment,
    SubmissionOfRun,
)
from losslake_contributions.protocol.errors import ContributionError, unknown_contribution
from losslake_contributions.protocol.limits import MOST_SEGMENTS
from losslake_contributions.protocol.texts import reason_of
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import Contribution, HeldSegment, OpenSegment, Submission, SubmissionRun

_MOST_NAMED = 20


def parse_facts(body: bytes) -> str:
    """Return the run.json of a request's body, as the recorder writes it; raise ContributionError for anything else."""
    try:
        RunFacts.model_validate_json(body)
    except ValidationError as error:
        raise ContributionError("bad-document", reason_of(error)) from None
    document = json.loads(body)
    # The reader of spools recognizes a run.json by its first key.
    return json.dumps({"format": document.pop("format"), **document}, indent=1, ensure_ascii=False)


def exists(database: Database, run: str) -> bool:
    """Return True if somebody has created a contribution."""
    return database.read(lambda session: session.get(Contribution, run) is not None)


def contributor_of(database: Database, run: str) -> str | None:
    """Return the id of who sent a run, also of an erased one; None for an unknown run."""
    return database.read(lambda session: session.scalar(select(Contribution.contributor).where(Contribution.id == run)))


def create(database: Database, identity: Identity, run: str, facts: str) -> bool:
    """Create a contribution; return False if it exists with the same facts. Raise ContributionError otherwise."""

    def work(session: Session) -> bool:
        row = session.get(Contribution, run)
        if row is None:
            quotas.use(session, identity.token, runs=1, document_bytes=len(facts.encode()))
            session.add(
                Contribution(
                    id=run, contributor=identity.contributor, token=identity.token, facts=facts,
                    created_at=datetime.now(UTC), segments=0, bytes=0,
                )
            )  # fmt: skip
            session.flush()
            return True
        if row.contributor == identity.contributor:
            check_not_erased(row.id, row.is_erased)
        # Nobody learns whether another contributor's run has the same facts.
        if row.contributor != identity.contributor or json.loads(row.facts) != json.loads(facts):
            detail = f"there is a contribution {run} with other facts: a run keeps its run.json, and another one its id"
            raise ContributionError("conflict", detail)
        return False

    try:
        return database.write(identity.contributor, work)
    except IntegrityError:
        # Another contributor created it meanwhile.
        return database.write(identity.contributor, work)


@dataclass(frozen=True)
class Place:
    """Where a segment is to go, and what it is said to be. from_step: of its attempt."""

    run: str
    attempt: int
    n: int
    from_step: int | None
    sha256: str


def check_place(database: Database, identity: Identity, place: Place) -> None:
    """Raise ContributionError if a segment can't go to a place, whatever its bytes are."""
    database.read(lambda session: _find_room(session, identity, place))


def _find_room(session: Session, identity: Identity, place: Place) -> HeldSegment | None:
    """Return the same segment if it is held, else None; raise ContributionError if the place is unknown or taken."""
    row = _owned(session, identity, place.run)
    check_not_erased(row.id, row.is_erased)
    held = session.get(HeldSegment, (place.run, place.attempt, place.n))
    where = f"segment {place.attempt}/{place.n} of {place.run}"
    if held is not None and not held.is_partial:
        if (held.sha256, held.from_step) != (place.sha256, place.from_step):
            why = "other bytes" if held.sha256 != place.sha256 else f"from_step={held.from_step}"
            raise ContributionError("conflict", f"{where} is held with {why}: a segment never changes")
        return held
    check_free(session, row.id, row.submission)
    if held is None and session.get(OpenSegment, (place.run, place.attempt, place.n)) is None:
        check_number(place.run, row.segments + count_only_open(session, [place.run])[place.run])
    _check_attempt(session, place)
    return None


def check_number(run: str, n_segments: int) -> None:
    """Raise ContributionError if a run takes no more segments. n_segments: those that it has, open ones included."""
    if n_segments >= MOST_SEGMENTS:
        raise ContributionError("too-large", f"{run} has {MOST_SEGMENTS:,} segments: it takes no more")


def check_from_step(run: str, attempt: int, from_step: int | None, known: int | None) -> None:
    """Raise ContributionError if a segment says another from_step than those that are held of its attempt."""
    if known != from_step:
        detail = f"attempt {attempt} of {run} is held with from_step={known}"
        raise ContributionError("conflict", f"{detail}: all segments of an attempt have the same")


def _check_attempt(session: Session, place: Place) -> None:
    """Raise ContributionError if another segment of an attempt is held with another from_step."""
    for kind in (HeldSegment, OpenSegment):
        other = select(kind.from_step).where(kind.contribution == place.run, kind.attempt == place.attempt)
        for known in session.scalars(other.limit(1)):
            check_from_step(place.run, place.attempt, place.from_step, known)


def add_segment(database: Database, identity: Identity, place: Place, data: bytes) -> bool:
    """Store a segment whose digest was checked; return False if it is held already. A finished run is open again.

    It takes the place of its pieces. It is durable when this returns. Raise ContributionError if it can't go to its
    place, or the quota is used up.
    """
    segment = Segment.model_construct(
        attempt=place.attempt, n=place.n, from_step=place.from_step, bytes=len(data), sha256=place.sha256
    )
    if database.read(lambda session: _find_room(session, identity, place)) is not None:
        return False
    path = store_segment(database.lake, place.run, segment, data)

    def work(session: Session) -> tuple[bool, list[str]]:
        held = _find_room(session, identity, place)
        if held is not None:
            # By this request, if the answer to its commit was lost.
            return held.path == path, [] if held.path == path else [path]
        return True, _replace_pieces(session, identity, segment, path, place.run)

    try:
        is_new, unused = database.write(identity.contributor, work)
    except ContributionError:
        database.lake.store.delete([path])
        raise
    database.lake.store.delete(unused)
    return is_new


def _replace_pieces(session: Session, identity: Identity, segment: Segment, path: str, run: str) -> list[str]:
    """Add a whole segment in place of its pieces; return the files that aren't used any more."""
    place = run, segment.attempt, segment.n
    opened, part = session.get(OpenSegment, place), session.get(HeldSegment, place)
    unused = [part.path] if part is not None else []
    n_more = max(0, segment.bytes - sum(each.bytes for each in (opened, part) if each is not None))
    if opened is not None:
        quotas.give_back(session, identity.token, opened.charged - opened.bytes)
        delete_segment(session, opened)
    is_new = opened is None and part is None
    quotas.use(session, identity.token, segments=int(is_new), n_bytes=n_more)
    row = session.get_one(Contribution, run)
    row.end, row.finished_at, row.is_silent = None, None, False
    hold_segment(session, row, segment, path, part)
    return unused


def hold_segment(
    session: Session, row: Contribution, segment: Segment, path: str, part: HeldSegment | None, is_partial: bool = False
) -> None:
    """Add a segment whose file is stored to a run, in place of the part of it that is held."""
    held = {
        "from_step": segment.from_step, "bytes": segment.bytes, "sha256": segment.sha256, "path": path,
        "received_at": datetime.now(UTC), "is_partial": is_partial,
    }  # fmt: skip
    row.bytes += segment.bytes - (part.bytes if part is not None else 0)
    if part is None:
        row.segments += 1
        session.add(HeldSegment(contribution=row.id, attempt=segment.attempt, n=segment.n, **held))
        return
    for name, value in held.items():
        setattr(part, name, value)


def finish(database: Database, identity: Identity, run: str, end: Finish) -> bool:
    """Finish a contribution; return False if it is finished in the same way.

    Raise ContributionError if a segment isn't held, or differs, or it was submitted as it was finished before.
    """
    end = end.model_copy(update={"segments": tuple(sorted(end.segments, key=lambda each: (each.attempt, each.n)))})
    text = end.model_dump_json()

    def work(session: Session) -> tuple[bool, list[str]]:
        row = _owned(session, identity, run)
        if row.end == text:
            return False, []
        check_not_erased(row.id, row.is_erased)
        check_free(session, row.id, row.submission)
        unused = _settle_partial(session, row, end.segments)
        _check_whole(run, end.segments, _whole_segments(session, run))
        delete_segments(session, run)
        quotas.use(session, identity.token, document_bytes=len(text.encode()))
        row.end, row.finished_at, row.is_silent = text, datetime.now(UTC), False
        return True, unused

    is_new, unused = database.write(identity.contributor, work)
    database.lake.store.delete(unused)
    return is_new


def _settle_partial(session: Session, row: Contribution, named: Sequence[Segment]) -> list[str]:
    """Keep the partial segments that an end names as they are, forget the others; return the files of these.

    The end says what a run consists of: the training's machine may have lost lines that it had sent.
    """
    unused = []
    by_place = {(segment.attempt, segment.n): segment for segment in named}
    for part in session.scalars(select(HeldSegment).where(HeldSegment.contribution == row.id, HeldSegment.is_partial)):
        segment = by_place.get((part.attempt, part.n))
        if segment == segment_of(part):
            part.is_partial = False
        elif segment is None:
            unused.append(part.path)
            row.segments -= 1
            row.bytes -= part.bytes
            session.delete(part)
    session.flush()
    return unused


def _whole_segments(session: Session, run: str) -> list[Segment]:
    """Return the segments of a run that aren't partial: another end has to wait for the rest of these."""
    query = select(HeldSegment).where(HeldSegment.contribution == run, ~HeldSegment.is_partial)
    return [segment_of(row) for row in session.scalars(query)]


def check_not_erased(run: str, is_erased: bool) -> None:
    """Raise ContributionError for the tombstone of a run."""
    if is_erased:
        raise ContributionError("conflict", f"{run} was erased: it isn't taken again")


def check_free(session: Session, run: str, submission: str | None) -> None:
    """Raise ContributionError if a run is in a submission, so that it can't change."""
    if submission is None:
        return
    state = session.get_one(Submission, submission).state
    known = f"{run} has gone on since it was finished"
    if state == "submitted":
        raise ContributionError("conflict", f"{known}, and {submission} has it as it was: withdraw that first")
    raise ContributionError("conflict", f"{known}, and is {state} as it was: record a run of its own")


def _check_whole(run: str, named: Sequence[Segment], held: Sequence[Segment]) -> None:
    """Raise ContributionError unless the segments that are named are those that are held."""
    by_place = {(segment.attempt, segment.n): segment for segment in held}
    missing = [segment for segment in named if (segment.attempt, segment.n) not in by_place]
    if missing:
        places = [f"{segment.attempt}/{segment.n}" for segment in missing]
        detail = f"{len(missing):,} segments of {run} are missing: send {_some(places)}, then finish it again"
        raise ContributionError("incomplete", detail, missing=places[:MOST_SEGMENTS])
    differing = [f"{each.attempt}/{each.n}" for each in named if each != by_place[each.attempt, each.n]]
    if differing:
        detail = f"segments of {run} are held with other bytes or from_step: {_some(differing)}"
        raise ContributionError("conflict", detail, differing=differing)
    extra = sorted(by_place.keys() - {(segment.attempt, segment.n) for segment in named})
    if extra:
        places = [f"{attempt}/{n}" for attempt, n in extra]
        raise ContributionError("conflict", f"segments of {run} are held that its end doesn't name: {_some(places)}")


def _some(places: Sequence[str]) -> str:
    return ", ".join(places[:_MOST_NAMED]) + (" …" if len(places) > _MOST_NAMED else "")


def status(database: Database, identity: Identity, run: str) -> ContributionStatus:
    """Return the state of a contribution. Raise ContributionError unless it is the identity's, or it reviews."""

    def query(session: Session) -> ContributionStatus:
        row = _readable(session, identity, run)
        submission = session.get(Submission, row.submission) if row.submission is not None else None
        if submission is None:
            submission = _last_submission(session, row)
        of_run = None
        if submission is not None:
            of_run = SubmissionOfRun.model_construct(
                id=submission.id, state=submission.state, reason=submission.reason, release=submission.release
            )
        state = "open" if row.end is None else "finished"
        return ContributionStatus.model_construct(
            id=run, state=state, n_segments=row.segments, bytes=row.bytes, submission=of_run
        )

    return database.read(query)


def _last_submission(session: Session, row: Contribution) -> Submission | None:
    """Return the last submission that a run was in before it was returned or withdrawn."""
    query = select(Submission).join(SubmissionRun, SubmissionRun.submission == Submission.id)
    of_run = query.where(SubmissionRun.contribution == row.id, Submission.contributor == row.contributor)
    return session.scalar(of_run.order_by(Submission.changed_at.desc()).limit(1))


def held(database: Database, identity: Identity, run: str) -> HeldSegments:
    """Return the segments that are held of a contribution. Raise ContributionError as `status` does."""

    def query(session: Session) -> HeldSegments:
        row = _readable(session, identity, run)
        state = "open" if row.end is None else "finished"
        return HeldSegments.model_construct(id=run, state=state, segments=tuple(held_segments(session, run)))

    return database.read(query)


def held_segments(session: Session, run: str) -> list[Segment]:
    """Return the segments that are held of a run, by attempt and number."""
    query = select(HeldSegment).where(HeldSegment.contribution == run).order_by(HeldSegment.attempt, HeldSegment.n)
    return [segment_of(row) for row in session.scalars(query)]


def segment_of(row: HeldSegment) -> Segment:
    """Return a held segment as the protocol names it."""
    return Segment.model_construct(
        attempt=row.attempt, n=row.n, from_step=row.from_step, bytes=row.bytes, sha256=row.sha256
    )


def facts_of(database: Database, identity: Identity, run: str) -> str:
    """Return the run.json of a contribution, as text. Raise ContributionError as `status` does."""
    return database.read(lambda session: _readable(session, identity, run).facts)


def segment_file(database: Database, identity: Identity, run: str, attempt: int, n: int) -> tuple[Lake, str, str]:
    """Return the lake, the path and the SHA-256 of a held segment. Raise ContributionError if there is none."""

    def query(session: Session) -> tuple[str, str]:
        _readable(session, identity, run)
        row = session.get(HeldSegment, (run, attempt, n))
        if row is None:
            raise ContributionError("unknown-segment", f"{run} has no segment {attempt}/{n}: see GET …/segments")
        if not row.path:
            raise ContributionError("unknown-segment", f"segment {attempt}/{n} of {run} was erased")
        return row.path, row.sha256

    return (database.lake, *database.read(query))


def _owned(session: Session, identity: Identity, run: str) -> Contribution:
    row = session.get(Contribution, run)
    if row is None or row.contributor != identity.contributor:
        raise unknown_contribution(run)
    return row


def _readable(session: Session, identity: Identity, run: str) -> Contribution:
    row = session.get(Contribution, run)
    if row is None or not (row.contributor == identity.contributor or identity.is_reviewer):
        raise unknown_contribution(run)
    return row
