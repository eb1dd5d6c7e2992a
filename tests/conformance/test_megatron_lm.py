"""Golden values of Megatron-LM: stored losses equal a reading with json, batch sizes those of the arguments."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from losslake.index.serving import open_release
from losslake.lake.lake import Lake
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.run import ingest
from tests.conformance.corpora import ROOT, SAMPLE_AND_WHOLE, corpus, texts_in

Run = tuple[int, str, tuple[tuple[int, float], ...]]
TOO_SHORT = re.compile("/mixtral_8x22b_|/mixtral_8x7b_tp1pp4ep8vpp8_")
STORED = """
  SELECT t.batch_size, trim(BOTH '"' FROM attributes['accelerator']), array_agg((m.step, m.value) ORDER BY m.step)
  FROM trials AS t JOIN measurements AS m USING (collection, dataset, model, optimizer, batch_size, trial_id)
  WHERE m.metric = 'train/cross_entropy_error' GROUP BY t.batch_size, attributes['accelerator'], model, t.trial_id
"""


def plain(texts: dict[str, str]) -> Counter[Run]:
    """The losses of each test of at least 1,000 steps whose arguments are known; equal files count once."""
    runs: dict[str, Run] = {}
    for path, text in texts.items():
        folder, _, name = path.rpartition("/")
        arguments = texts.get(f"{folder}/model_config.yaml", "")
        if not name.startswith("golden_values_") or not re.search("_release|/gpt3_weekly_", folder) or not arguments:
            continue
        stated = re.search(r"^ +--global-batch-size: (\d+)$", arguments, re.MULTILINE)
        first = re.search(r'^ +--step-batch-size-schedule: "0:(\d+) 200B:', arguments, re.MULTILINE)
        size = stated or first
        assert size is not None
        values = json.loads(text)["lm loss"]["values"]
        curve = tuple((int(step), value) for step, value in values.items() if value != "nan")
        assert (curve[-1][0] < 1000) == (TOO_SHORT.search(path) is not None)
        if curve[-1][0] >= 1000:
            gpu = name.removesuffix(".json").rpartition("_")[2].upper()
            runs[text] = (int(size[1]), f"NVIDIA {gpu}", curve)
    return Counter(runs.values())


@pytest.mark.parametrize("part", SAMPLE_AND_WHOLE)
def test_every_loss_equals_a_reading_with_json(tmp_path: Path, part: str) -> None:
    folder = corpus("megatron_lm", part) / ("golden_values.tar.zst" if part == "whole" else "Megatron-LM")
    lake = Lake.create(tmp_path / "lake")
    summary = ingest(lake, [folder], Request(mapping=ROOT / "published" / "megatron-lm" / "losslake.toml"))
    assert {item.rule for item in summary.quarantined} <= {"duplicate_source"}
    with open_release(lake, lake.release()) as connection:
        stored = Counter((size, gpu, tuple(curve)) for size, gpu, curve in connection.execute(STORED).fetchall())
    assert stored == plain(texts_in(folder))
    assert summary.broken == ()
