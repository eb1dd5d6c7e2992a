from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from bench import limits
from bench.servers import Server
from losslake.questions.release.view import ReleaseView
from tests.bundled import bundled_lake


@pytest.mark.parametrize(("times", "verdict", "status"), [([5, 2, 4], "yes", 0), ([5, 2, 4.1], "**no**", 1)])
def test_status_is_1_if_a_median_is_over_its_limit(
    tmp_path_factory: pytest.TempPathFactory,
    times: list[float],
    verdict: str,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def measure(_: ReleaseView, __: Server, ___: int, limit: float) -> Iterator[limits.Row]:
        yield limits.Row("slow", times, (), limit)
        yield limits.Row("quick", [1], (), limit)

    monkeypatch.setattr(limits, "service", lambda *_: nullcontext(Server(0, 0)))
    options = ["--lake", str(bundled_lake(tmp_path_factory).folder), "--limit", "4"]
    assert limits.report("page", [], measure, None, options) == status
    _, slow, quick = capsys.readouterr().out.rstrip().rsplit("\n", 2)
    assert slow.endswith(f"| {verdict} |")
    assert quick.endswith("| yes |")
