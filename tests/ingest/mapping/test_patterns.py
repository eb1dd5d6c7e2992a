"""In the patterns of a mapping, only `*` is special."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from losslake_ingest.mapping.mapping import fits
from tests.ingest.mapping.test_bad_cells import MAPPING, planned

TEXT = st.text("ab[]?!-.\n", max_size=6)


@given(TEXT, st.lists(TEXT, min_size=1, max_size=3))
def test_a_star_stands_for_any_text_and_the_rest_for_itself(text: str, parts: list[str]) -> None:
    assert fits(text.join(parts), "*".join(parts))
    assert fits(text, parts[0]) == (text == parts[0])


def test_brackets_in_names_of_columns_values_and_files_stand_for_themselves(tmp_path: Path) -> None:
    mapping = f"""{MAPPING}
metrics = {{ "val_loss[0]" = "val/loss" }}
files.exclude = ["bad[1].csv"]
[[axis]]
column = "at"
metrics = ["val_loss[0]"]
[[when]]
if = {{ net = ["net[12]", "what?"] }}
metrics = {{ "val_loss[0]" = "test/loss" }}
"""
    (tmp_path / "bad[1].csv").write_text("not a log\n")
    plan = planned(tmp_path, "log.csv", "step,at,net,val_loss[0]\n1,10,net1,2\n2,20,net1,1\n", mapping)
    (study,) = plan.studies.values()
    assert [(step, cells) for _, step, cells in study.first_rows] == [(10, {"val/loss": 2}), (20, {"val/loss": 1})]
    assert not plan.quarantined
