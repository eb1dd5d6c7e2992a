"""A folder in which folders have mappings is read part by part."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from losslake.lake.lake import Lake
from losslake_ingest.contracts.rules import BadMapping
from losslake_ingest.pipeline.reading import ARCHIVED_MAPPING, Request, open_sources
from losslake_ingest.plan import plan_ingest
from losslake_ingest.run import ingest
from tests.ingest.offers import Files, tar_bytes, written, zip_bytes

MAPPING = """
[collection]
name = "c"
[run]
dataset = "d"
model = "{model}"
optimizer = "o"
batch_size = 10
"""
LOG = "step,val/loss\n1,0.5\n2,0.25\n"


def folder_of_parts(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def mapping(model: str) -> str:
    return f'{MAPPING}[fields]\nmodel = "{model}"\n'


def test_each_part_is_read_by_its_own_mapping(tmp_path: Path) -> None:
    files = {
        "README.md": "two benchmarks",
        "a/losslake.toml": mapping("a"),
        "a/seed1/log.csv": LOG,
        "b/losslake.toml": mapping("b") + '[path]\npatterns = ["lr{lr:float}/*"]\n',
        "b/lr0.5/log.csv": LOG,
        "b/deep/losslake.toml": mapping("deep"),
        "b/deep/log.csv": LOG,
    }
    plan = plan_ingest(None, [folder_of_parts(tmp_path, files)], Request())
    assert (plan.broken, plan.quarantined) == ([], [])
    assert [study.workload.model for study in plan.studies] == ["a", "b", "deep"]
    assert [plan.trials for plan in plan.studies.values()] == [1, 1, 1]


def test_the_rest_of_the_folder_is_read_by_its_own_mapping(tmp_path: Path) -> None:
    files = {"losslake.toml": mapping("rest"), "x/log.csv": LOG, "a/losslake.toml": mapping("a"), "a/log.csv": LOG}
    plan = plan_ingest(None, [folder_of_parts(tmp_path, files)], Request())
    assert {study.workload.model: each.trials for study, each in plan.studies.items()} == {"rest": 1, "a": 1}


def test_logs_outside_of_all_parts_need_a_mapping(tmp_path: Path) -> None:
    plan = plan_ingest(None, [folder_of_parts(tmp_path, {"log.csv": LOG, "a/losslake.toml": mapping("a")})], Request())
    assert [(item.path, item.rule) for item in plan.quarantined] == [("log.csv", "missing_fact")]
    assert "no log of a known format" in plan.broken[0]  # of a, which has a mapping and nothing to read


def test_a_mapping_for_all_reads_the_folder_as_a_whole(tmp_path: Path) -> None:
    files = {
        "all.toml": mapping("all"),
        "a/losslake.toml": mapping("a"),
        "a/log.csv": LOG,
        "b/log.csv": LOG.replace("0.25", "0.125"),
    }
    folder = folder_of_parts(tmp_path, files)
    plan = plan_ingest(None, [folder], Request(mapping=folder / "all.toml"))
    assert {study.workload.model: each.trials for study, each in plan.studies.items()} == {"all": 2}


def test_runs_of_two_parts_in_one_study_keep_their_numbers(tmp_path: Path) -> None:
    other = LOG.replace("0.25", "0.125")
    files = {"a/losslake.toml": mapping("m"), "a/log.csv": LOG, "b/losslake.toml": mapping("m"), "b/log.csv": other}
    folder = folder_of_parts(tmp_path / "logs", files)
    lake = Lake.create(str(tmp_path / "lake"))
    assert ingest(lake, [folder]).trials_ingested == 2
    again = ingest(lake, [folder])
    assert (again.published, again.trials_unchanged, again.quarantined) == (False, 2, ())


def test_a_folder_whose_files_are_all_in_parts_is_no_source(tmp_path: Path) -> None:
    logs = folder_of_parts(tmp_path / "logs", {"a/losslake.toml": "", "a/x.csv": LOG, "b/y.csv": LOG})
    assert [source.path for source in open_sources([logs], Request())] == [logs, logs / "a"]
    (logs / "b" / "y.csv").unlink()
    assert [source.path for source in open_sources([logs], Request())] == [logs / "a"]
    (logs / "a" / "losslake.toml").unlink()
    assert [source.path for source in open_sources([logs], Request())] == [logs]


def test_a_mapping_of_a_part_that_is_a_link_is_refused_by_name(tmp_path: Path) -> None:
    logs = folder_of_parts(tmp_path / "logs", {"losslake.toml": mapping("rest"), "a/x.csv": LOG})
    shared = folder_of_parts(tmp_path, {"shared.toml": mapping("a")}) / "shared.toml"
    (logs / "a" / "losslake.toml").symlink_to(shared)
    with pytest.raises(BadMapping, match=r"logs/a/losslake\.toml is a symbolic link, which isn't followed"):
        plan_ingest(None, [logs], Request())
    (study,) = plan_ingest(None, [logs], Request(mapping=shared)).studies
    assert study.workload.model == "a"


def test_a_link_to_a_mapping_is_read_in_the_offered_folder_and_refused_where_it_leads_nowhere(tmp_path: Path) -> None:
    logs = folder_of_parts(tmp_path / "logs", {"x.csv": LOG})
    (logs / "losslake.toml").symlink_to(tmp_path / "shared.toml")
    with pytest.raises(BadMapping, match=r"logs/losslake\.toml: No such file"):
        plan_ingest(None, [logs], Request())
    folder_of_parts(tmp_path, {"shared.toml": mapping("shared")})
    (study,) = plan_ingest(None, [logs], Request()).studies
    assert study.workload.model == "shared"


@pytest.mark.parametrize("packed", [tar_bytes, zip_bytes])
def test_mappings_in_an_archive_are_remarked_by_name(tmp_path: Path, packed: Callable[[Files], bytes]) -> None:
    folder_of_parts(tmp_path, {"losslake.toml": mapping("beside")})
    files = {"runs/a/losslake.toml": mapping("a").encode(), "runs/a/x.csv": LOG.encode()}
    archive = written(tmp_path / "runs.archive", packed(files))
    (report,) = plan_ingest(None, [archive], Request()).sources
    assert (f"{ARCHIVED_MAPPING} (first in runs/a/losslake.toml)", 1) in report.remarks
    (report,) = plan_ingest(None, [archive], Request(mapping=tmp_path / "losslake.toml")).sources
    assert not [remark for remark, _ in report.remarks if ARCHIVED_MAPPING in remark]
