"""The service as a process: what it acknowledged survives its death, several workers, and PostgreSQL."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_contributions.client.connection import ContributionClient
from losslake_contributions.client.push import Terms, push
from losslake_contributions.intake.metrics import ContributionMetrics
from losslake_contributions.people.tokens import create_token
from losslake_contributions.protocol.errors import KINDS
from losslake_contributions.review.acceptance import accept
from losslake_contributions.serve import serve
from losslake_contributions.settings import Settings
from losslake_contributions.store.database import Database
from losslake_schema.errors import LossLakeError
from losslake_service.settings import load_settings, toml_value
from tests.contributions.conftest import ADA
from tests.contributions.made_runs import runs_in
from tests.contributions.review.test_acceptance import REWOUND, check_stored
from tests.contributions.running import running_service
from tests.contributions.spooled_runs import SpooledRun

DOCS = Path(__file__).parents[2] / "docs" / "contributions.md"


@pytest.fixture(autouse=True)
def _own_folder_of_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A service of several workers that is killed leaves it.
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def push_and_accept(lake: Lake, folder: Path, workers: int) -> None:
    """Push runs to a service that is killed after it acknowledged them, and accept them."""
    runs = [SpooledRun(batch_size=size, segments=dict(REWOUND)) for size in (8, 16, 32)]
    for run in runs:
        run.write(folder)
    with running_service(lake, workers=workers) as service:
        token = create_token(Database.open(lake), "Ada", ADA, ["contribute"], 1)
        with ContributionClient(service.url, token, 8) as client:
            pushed = push(client, runs_in(folder).runs, Terms(), lambda *_: None)
        assert pushed.submission is not None
        service.kill()
        service.start()
        with ContributionClient(service.url, token, 8) as client:
            again = push(client, runs_in(folder).runs, Terms(), lambda *_: None)
        assert again.submission is None
        assert {state.submission.id for state in again.states.values() if state.submission} == {pushed.submission.id}
        accept(Database.open(lake), pushed.submission.id, "me")
    check_stored(lake, *runs)


def test_what_was_acknowledged_survives_a_kill(empty_lake: Lake, tmp_path: Path) -> None:
    push_and_accept(empty_lake, tmp_path / "runs", 1)


@pytest.mark.slow
def test_several_workers_take_runs_together(empty_lake: Lake, tmp_path: Path) -> None:
    push_and_accept(empty_lake, tmp_path / "runs", 2)


@pytest.mark.slow
def test_a_lake_may_have_its_database_in_postgresql(lake_in_postgresql: Lake, tmp_path: Path) -> None:
    push_and_accept(lake_in_postgresql, tmp_path / "runs", 1)


def test_a_server_that_can_t_start_says_why_in_one_line(empty_lake: Lake) -> None:
    with pytest.raises(LossLakeError, match="set public_url to its public URL"):
        serve(Settings(lake=str(empty_lake), host="192.0.2.7", port=0))


def test_settings_have_variables_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOSSLAKE_PORT", "1")
    monkeypatch.setenv("LOSSLAKE_CONTRIBUTIONS_UPLOADS", "2")
    settings = load_settings(Settings).settings
    assert (settings.port, settings.uploads) == (8010, 2)


def test_every_setting_is_documented_with_its_default() -> None:
    section = DOCS.read_text().partition("### Settings\n")[2].partition("\n##")[0]
    rows = re.findall(r"^\| `(\w+)` \| `(.*?)` \| (.*) \|$", section, re.MULTILINE)
    defaults = Settings.model_construct()
    assert rows == [
        (name, toml_value(getattr(defaults, name)), field.description) for name, field in Settings.model_fields.items()
    ]


def test_every_metric_of_contributions_is_documented() -> None:
    documented = set(re.findall(r"^\| `(losslake_contributions_\w+)` \|", DOCS.read_text(), re.MULTILINE))
    families = {family.name: family.type for family in ContributionMetrics().registry.collect()}
    ours = {name for name in families if name.startswith("losslake_contributions_")}
    assert documented == {f"{name}_total" if families[name] == "counter" else name for name in ours}


def test_every_kind_of_problem_is_documented() -> None:
    table = re.findall(r"^\| `([a-z-]+)` \| (\d{3}) \| (.*) \|$", DOCS.read_text(), re.MULTILINE)
    assert table == [(kind, str(status), title) for kind, (status, title) in KINDS.items()]
