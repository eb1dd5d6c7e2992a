"""All benchmarks run for whoever runs them: a failed part is named and stops no other."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from bench import in_turn
from bench.__main__ import PARTS, Part, main


def part(name: str, module: str, *arguments: str) -> Part:
    return Part(name, module, "nothing", 1, 1, 1, arguments)


# Modules of Python that can be run: one fails on its arguments, the other prints a calendar.
BROKEN = part("broken", "calendar", "no-year")
WHOLE = part("whole", "calendar", "1999")


def test_failed_part_stops_no_other_and_is_listed_at_the_end(capfd: pytest.CaptureFixture[str]) -> None:
    assert main([], [BROKEN, WHOLE]) == 1
    lines = capfd.readouterr().out.splitlines()
    assert [line.partition(" after ")[0] for line in lines if "failed" in line] == [
        "== broken failed with exit status 2",
        "failed: broken",
    ]
    assert any("1999" in line and not line.startswith("==") for line in lines)
    assert lines[-1] == "failed: broken"


def test_exit_status_is_zero_if_no_part_failed(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["whole"], [BROKEN, WHOLE]) == 0
    assert "broken" not in capfd.readouterr().out


def test_needs_and_time_are_printed_before_the_first_part(capfd: pytest.CaptureFixture[str]) -> None:
    main([], [WHOLE])
    before, _, _ = capfd.readouterr().out.partition("== whole")
    for word in ("minutes", "memory", "disk", "archive"):
        assert word in before


def test_unknown_part_is_refused_with_the_names_of_all(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        main(["hole"], [BROKEN, WHOLE])
    assert "no such part: hole; there are broken, whole" in capfd.readouterr().err


def test_every_part_is_a_module_with_a_name_of_its_own() -> None:
    assert [part.module for part in PARTS if find_spec(part.module) is None] == []
    assert len({part.name for part in PARTS}) == len(PARTS)


def test_help_lists_every_part(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["--help"])
    text = capfd.readouterr().out
    assert [part.name for part in PARTS if f"  {part.name} " not in text] == []


def test_trees_in_turn_need_a_commit_or_a_tree(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        in_turn.main([])
    assert "give a commit, or a tree with both lakes" in capsys.readouterr().err
