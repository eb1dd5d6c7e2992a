"""The review of a submission: its draft, the report of the checks, and the changes that its runs make.

A review is made when it is first asked for, and kept in a folder on this machine until the submission, the newest
release or the checks change. It can be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from losslake.lake.machine import atomic_write, locked
from losslake_contributions.archive import spool_files, stored_runs
from losslake_contributions.checks.evidence import Claim, Evidence
from losslake_contributions.checks.report import Report
from losslake_contributions.checks.rules import CHECKS_VERSION
from losslake_contributions.checks.run import check
from losslake_contributions.contract.submissions import SubmissionStatus
from losslake_contributions.drafts.changes import DraftChanges, changes
from losslake_contributions.drafts.draft import LAKE, RUNS, make_draft
from losslake_contributions.errors import ContributionError, public_reason
from losslake_contributions.spools.spool import Spool, read_spool
from losslake_contributions.store.database import Database
from losslake_contributions.store.files import DRAFTS
from losslake_contributions.store.submissions import find_any, submissions_of_owner

CURVES = "curves"  # of stored trials, indexed
_REVIEW = "review.json"
_log = logging.getLogger(__name__)


class Review(BaseModel):
    """The review of a submission. base: the release that it is compared with; None for an empty lake."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="strings")

    submission: str
    base: int | None
    report: Report
    changes: DraftChanges


class Reviews:
    """The reviews of the submissions to a lake, below a folder of this machine."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._folder = database.lake.folder / DRAFTS
        # Of this process; a file's lock keeps other processes out.
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        # One after the other: a large one takes a core and up to 1 GB of memory.
        self._background = ThreadPoolExecutor(1, "reviews")
        self._begun: set[Path] = set()
        self._failures: dict[Path, str] = {}

    def begin(self, name: str) -> bool:
        """Have the review of a submission made in the background; return True if it is there already.

        Raises ContributionError if the submission doesn't wait for one.
        """
        folder = self._place(*self._waiting(name))
        if (folder / _REVIEW).is_file():
            return True
        if folder not in self._begun and folder not in self._failures:
            self._begun.add(folder)
            self._background.submit(self._try_to_make, name, folder)
        return False

    def failure(self, name: str) -> str:
        """Return why the review of a submission could not be made in the background; empty if it was, or will be.

        It is told once: then `begin` tries again, as a full disk may be empty by then.
        """
        return self._failures.pop(self._place(*self._waiting(name)), "")

    def close(self) -> None:
        """Begin no more reviews, and wait for the one that is being made."""
        self._background.shutdown(cancel_futures=True)

    def _try_to_make(self, name: str, folder: Path) -> None:
        try:
            self._made(name)
        except Exception as error:  # noqa: BLE001 - whoever asks for the review gets it
            _log.warning("the review of %s can't be made: %s", name, error)
            self._failures[folder] = f"The review can't be made: {public_reason(error)}"
        finally:
            self._begun.discard(folder)

    def review(self, name: str) -> Review:
        """Return the review of a submission that waits for one, and make it if needed. Raises ContributionError."""
        return _read(self._made(name))

    def draft(self, name: str) -> Path:
        """Return the folder of the draft lake of a submission, and make it if needed. Raises ContributionError."""
        folder = self._made(name)
        if _read(folder).changes.after is None:
            raise ContributionError("not-storable", f"no run of {name} can be stored: its review says why")
        return folder / LAKE

    def forget(self, name: str) -> None:
        """Delete the draft and the review of a submission."""
        shutil.rmtree(self._folder / name, ignore_errors=True)

    def forget_decided(self) -> None:
        """Delete the drafts of submissions that don't wait for a review any more."""
        for folder in self._folder.iterdir() if self._folder.is_dir() else ():
            if folder.name == CURVES:
                continue
            name = folder.stem
            try:
                waits = find_any(self._database, name, with_runs=False).state == "submitted"
            except ContributionError:
                waits = False
            if not waits:
                self.forget(name)
                (self._folder / f"{name}.lock").unlink(missing_ok=True)

    def _waiting(self, name: str) -> tuple[SubmissionStatus, int | None]:
        """Return a submission that waits for a review, and the newest release. Raises ContributionError."""
        status = find_any(self._database, name, with_runs=False)
        if status.state != "submitted":
            ended = f"accepted into release {status.release}" if status.state == "accepted" else status.state
            raise ContributionError("conflict", f"{name} was {ended}: only submissions that wait have drafts")
        base = self._database.lake.newest_release()
        return status, base.number if base is not None else None

    def _place(self, status: SubmissionStatus, base: int | None) -> Path:
        """Return the folder of a review, which no other runs, facts, releases or checks have."""
        facts = [*status.contributions, status.licence, *map(repr, status.claims)]
        key = hashlib.sha256(json.dumps([CHECKS_VERSION, base, facts]).encode()).hexdigest()[:16]
        return self._folder / status.id / key

    def _made(self, name: str) -> Path:
        status, base = self._waiting(name)
        folder = self._place(status, base)
        if (folder / _REVIEW).is_file():
            return folder
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._locks[name], locked(self._folder / f"{name}.lock"):
            if not (folder / _REVIEW).is_file():
                self.forget(name)
                self._make(status, folder, base)
        return folder

    def _make(self, status: SubmissionStatus, folder: Path, base: int | None) -> None:
        """Make the draft, and at last the file with the review, which says that the folder is whole."""
        try:
            self._make_whole(status, folder, base)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)  # the disk may be full
            raise

    def _make_whole(self, status: SubmissionStatus, folder: Path, base: int | None) -> None:
        spools = self._spools(status.id, folder / RUNS)
        draft = make_draft(folder / LAKE, [*spools.values()], self._database.lake, base)
        claims = [Claim(each.contribution, each.metric, float(each.target), each.steps) for each in status.claims]
        evidence = Evidence(
            draft,
            spools,
            status.licence,
            claims,
            self._database.lake,
            self._folder / CURVES,
            submissions_of_owner(self._database, status.id),
        )
        found = Review(submission=status.id, base=draft.base, report=check(evidence), changes=changes(draft))
        with atomic_write(folder / _REVIEW) as unfinished:
            unfinished.write_text(found.model_dump_json(), "utf-8")

    def _spools(self, name: str, folder: Path) -> dict[str, Spool]:
        spools = {}
        for run in stored_runs(self._database, name):
            for file in spool_files(self._database, run):
                path = folder / run.id / file.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.read())
            spools[run.id] = read_spool(folder / run.id)
        return spools


@lru_cache(maxsize=4)
def _read(folder: Path) -> Review:
    """Return the review in a folder. Each request to a draft asks for it, and a folder's review never changes."""
    return Review.model_validate_json((folder / _REVIEW).read_bytes())
