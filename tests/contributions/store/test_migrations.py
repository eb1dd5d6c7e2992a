"""A catalog of an earlier version answers as it did, in SQLite and in PostgreSQL.

version_0005.json has the rows of a service of that version, in which runs were submitted, split off, returned and
withdrawn, and what it answered about them.
"""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from losslake.lake.lake import Lake
from losslake_contributions.intake.runs import status
from losslake_contributions.people.tokens import Identity
from losslake_contributions.protocol.submissions import Credit, SubmissionRequest
from losslake_contributions.review.submissions import find_any, submit
from losslake_contributions.store.database import Database
from losslake_contributions.store.tables import CHAIN, Base, Submission, SubmissionRun
from losslake_schema.database import UtcDateTime
from losslake_schema.migrating import migrate

VERSION_5 = json.loads((Path(__file__).parent / "version_0005.json").read_text("utf-8"))


@pytest.fixture(params=["empty_lake", "lake_in_postgresql"])
def database(request: pytest.FixtureRequest) -> Database:
    """The database of version 5 after its upgrade."""
    lake: Lake = request.getfixturevalue(request.param)
    migrate(lake.engine, "0005", CHAIN)
    with lake.engine.begin() as connection:
        for name, rows in VERSION_5["tables"].items():
            table = Base.metadata.tables[name]
            times = {column.name for column in table.columns if isinstance(column.type, UtcDateTime)}
            connection.execute(table.insert(), [_typed(row, times) for row in rows])
    return Database.open(lake)


def _typed(row: dict[str, Any], times: set[str]) -> dict[str, Any]:
    return {name: datetime.fromisoformat(value) if name in times and value else value for name, value in row.items()}


def identity(scope: str, contributor: str, token: str = "") -> Identity:
    return Identity(token, contributor, Credit(name="somebody"), {scope})


def test_submissions_and_their_runs_are_as_before(database: Database) -> None:
    names = database.read(lambda session: session.scalars(select(Submission.id)).all())
    shown = {name: find_any(database, name).model_dump(mode="json") for name in names}
    # That version didn't answer it.
    assert not any(document.pop("refused") for document in shown.values())
    assert shown == VERSION_5["submissions"]
    rea = identity("review", "reviewer")
    of_runs = {run: status(database, rea, run).model_dump(mode="json") for run in VERSION_5["runs"]}
    assert of_runs == VERSION_5["runs"]


def test_runs_are_rows_and_not_in_the_request(database: Database) -> None:
    requests = database.read(lambda session: session.scalars(select(Submission.request)).all())
    assert not [request for request in requests if "contributions" in json.loads(request)]
    rows = select(SubmissionRun.submission, SubmissionRun.contribution)
    assert {tuple(row) for row in database.read(lambda session: session.execute(rows).all())} == {
        (name, run) for name, document in VERSION_5["submissions"].items() for run in document["contributions"]
    }


def test_the_same_request_is_recognized(database: Database) -> None:
    known = VERSION_5["request"]
    request = SubmissionRequest.model_validate_json(json.dumps(known["document"]))
    (row,) = (row for row in VERSION_5["tables"]["losslake_submissions"] if row["id"] == known["id"])
    assert submit(database, identity("contribute", row["contributor"]), request) == (known["id"], False)
