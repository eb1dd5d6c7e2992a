"""`losslake review` shows on a terminal what a reviewer decides by."""

from __future__ import annotations

import pytest

from losslake_cli.main import app
from losslake_contributions.review.changes_text import as_text as changes_as_text
from losslake_contributions.review.checks.report import as_text as report_as_text
from losslake_contributions.review.review import Reviews
from tests.contributions.conftest import Sender, Service
from tests.contributions.spooled_runs import SpooledRun


def test_a_submission_is_shown_with_its_changes_and_checks(
    service: Service, ada: Sender, capsys: pytest.CaptureFixture[str]
) -> None:
    run = SpooledRun()
    name = ada.submitted(run, note="trained twice")
    shown = {}
    for command in (["list"], ["show", name]):
        app(["review", *command, "--lake", str(service.lake.folder)], standalone_mode=False)
        shown[command[0]] = capsys.readouterr().out
    assert name in shown["list"]
    facts, _, _ = shown["show"].partition(run.id)
    assert "note         trained twice\n" in facts
    assert "licence      CC-BY-4.0\n" in facts
    review = Reviews(service.database).review(name)
    lines = [*changes_as_text(review.changes), *report_as_text(review.report)]
    assert len(lines) > 4
    assert shown["show"].endswith("".join(f"{line}\n" for line in lines))
