"""No answer of the contribution service names a path of the machine, whatever fails."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contributions.conftest import Sender, Service
from tests.contributions.spooled_runs import SpooledRun


def damage_segment(lake: Path, name: str) -> None:
    for path in (lake / "contributions").rglob("*.zst"):
        path.write_bytes(b"altered")
    shutil.rmtree(lake / "drafts" / name, ignore_errors=True)


def remove_segment(lake: Path, name: str) -> None:
    for path in (lake / "contributions").rglob("*.zst"):
        path.unlink()
    shutil.rmtree(lake / "drafts" / name, ignore_errors=True)


def damage_draft(lake: Path, name: str) -> None:
    for path in (lake / "drafts" / name).rglob("releases/*.parquet"):
        path.write_bytes(b"altered")


def remove_draft(lake: Path, name: str) -> None:
    for path in (lake / "drafts" / name).rglob("losslake.toml"):
        path.unlink()
    for path in (lake / "drafts" / name).rglob("lake.toml"):
        path.unlink()


def put_file_in_the_way(lake: Path, name: str) -> None:
    shutil.rmtree(lake / "drafts" / name, ignore_errors=True)
    (lake / "drafts" / name).write_text("in the way")


def nothing(_: Path, __: str) -> None: ...


@pytest.mark.parametrize(
    "damage", [nothing, damage_segment, remove_segment, damage_draft, remove_draft, put_file_in_the_way]
)
def test_no_answer_names_a_path_of_the_machine(
    service: Service, ada: Sender, reviewer: Sender, tmp_path: Path, damage: Callable[[Path, str], None]
) -> None:
    good, bad = SpooledRun(), SpooledRun(segments={"0001/000001.jsonl": [{"no": "step"}]})
    name = ada.submitted(good, bad)
    review = reviewer.review(name)
    assert review.status_code == 200
    assert bad.id in review.text
    damage(service.lake.folder, name)
    draft = reviewer.send("GET", f"/v1/submissions/{name}").json()["links"]["draft"].removeprefix("http://localhost")
    assert draft.startswith("/drafts/"), draft
    answers: list[Any] = [review]
    for sender in (ada, reviewer):
        cookie = {"Cookie": sender.signed_in()}

        def page(cookie: dict[str, str] = cookie) -> Any:
            return service.client.get(f"/reviews/{name}", headers=cookie)

        answers += [
            sender.review(name),
            sender.send("POST", f"/v1/submissions/{name}/accept"),
            *(sender.send("GET", f"/v1/contributions/{run.id}/segments/1/1") for run in (good, bad)),
            page(),
            *(service.client.get(f"{draft}{path}") for path in ("", "v1/workloads", "v1/curves", "data/", "readyz")),
        ]
    assert {401}.isdisjoint(answer.status_code for answer in answers)
    for answer in answers:
        assert str(tmp_path) not in answer.text, answer.url
        assert "drafts/" + name not in answer.text, answer.url
