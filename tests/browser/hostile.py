"""A lake in which every text is an injection attempt, and the pages that show it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode

from losslake.lake.lake import Lake
from losslake_ingest.contracts.rules import Rule
from losslake_ingest.run import ingest
from losslake_schema.names import Workload

SCRIPT = "<script>alert('script')</script>"
IMAGE = "\"><img src=x onerror=alert('image')>"
ADDRESS = "javascript:alert('address')"
# What no name may hold, and values may: line ends of JavaScript, text that runs backwards, the end of a script.
VALUE = f"\u2028\u202e</script>{SCRIPT}]]>--><!--{IMAGE}"
TEMPLATE = "{{7*7}}${7*7}<%=7*7%>{%raw%}'`"
WORKLOAD = Workload(SCRIPT, IMAGE, TEMPLATE + "long" * 40, ADDRESS)
OTHER = Workload(SCRIPT, IMAGE, TEMPLATE, "<b>' OR 1=1--")
# What its batch sizes count is an injection as well.
COUNTED = Workload(SCRIPT, IMAGE, TEMPLATE, "<i>counted")
UNIT = "<svg onload=alert('unit')>"
FOLDER = "logs<img src=x onerror=alert('folder')>"
ERROR, ODD = "val/classification_error", "val/<svg onload=alert('metric')>"
MAPPING = f"""
[collection]
name = {json.dumps(SCRIPT)}
title = "{{value}}"
licence = "{{value}}"
citation = "{{value}}"
source_url = {json.dumps(ADDRESS)}
[run]
dataset = "{{its dataset}}"
model = "{{its model}}"
optimizer = "{{its optimizer}}"
batch_unit = "{{its unit}}"
[schedule]
batch_size = "{{sizes}}"
name = {json.dumps(UNIT)}
[time]
elapsed_s = "elapsed_s"
[[contributor]]
name = {json.dumps(IMAGE)}
[parameters]
accelerator = "{{value}}"
accelerators = "1"
hardware = "{{value}}"
schedule = "{{value}}"
learning_rate = "{{rate}}"
{json.dumps("<img src=x onerror=alert('parameter')>")} = "{{rate}}"
{json.dumps("<img src=x onerror=alert('attribute')>")} = "{{value}}"
[metrics]
odd = {json.dumps(ODD)}
error = {json.dumps(ERROR)}
[[goal]]
metric = {json.dumps(ERROR)}
target = 0.5
source = "{{value}}"
"""


def hostile_lake(folder: Path) -> Lake:
    """Create the lake in a folder."""
    logs = folder / FOLDER
    logs.mkdir()
    logs.joinpath("losslake.toml").write_text(MAPPING, "utf-8")
    for workload in (WORKLOAD, OTHER, COUNTED):
        for batch_size in (8, 16, 32, 64):
            for trial in range(3):
                name = f"{workload.optimizer[:3]}{batch_size}-{trial}<img src=x onerror=alert('file')>.jsonl"
                text = _log(workload, {"batch_size": batch_size}, trial)
                logs.joinpath(name).write_text(text, "utf-8")
    changing = _log(COUNTED, {"sizes": "0:8 50:16"}, 0)
    logs.joinpath("scheduled<img src=x onerror=alert('scheduled')>.jsonl").write_text(changing, "utf-8")
    # One run counts once: what the other log says is told beside the trial.
    logs.joinpath("copy<img src=x onerror=alert('copy')>.jsonl").write_text(
        _log(WORKLOAD, {"batch_size": 8}, 0, again="again"), "utf-8"
    )
    lake = Lake.create(folder / "lake")
    summary = ingest(lake, [logs], notes=VALUE)
    assert [each.rule for each in summary.quarantined] == [Rule.DUPLICATE_SOURCE], summary.quarantined
    return lake


def _log(workload: Workload, sizes: dict[str, int] | dict[str, str], trial: int, again: str = "") -> str:
    names = {"its dataset": workload.dataset, "its model": workload.model, "its optimizer": workload.optimizer}
    names["its unit"] = UNIT if workload == COUNTED else "examples"
    said = {**names, **sizes, "rate": 0.1 / (trial + 1), "value": VALUE + again}
    harder = int(sizes.get("batch_size", 0)) + trial
    rows = (
        {"step": s, "error": 40 / (s + 40 + harder), "odd": 1 / (s + 1), "elapsed_s": 0.1 * s}
        for s in range(0, 100, 10)
    )
    return "".join(json.dumps(said | row) + "\n" for row in rows)


@dataclass(frozen=True)
class Trap:
    """A page that shows such texts. says: a text that it must show unchanged. status: the expected HTTP status."""

    name: str
    path: str
    says: str = ""
    status: int = 200


def _query(path: str, *parameters: tuple[str, str]) -> str:
    return f"{path}?{urlencode(parameters)}"


_PATH = quote(str(WORKLOAD))
TRAPS = (
    Trap("home", "/"),
    Trap("workloads", "/workloads", TEMPLATE),
    Trap("search", _query("/workloads", ("q", IMAGE)), TEMPLATE),
    Trap("workload", f"/workloads/{_PATH}", TEMPLATE),
    Trap("odd metric", _query(f"/workloads/{_PATH}", ("metric", ODD)), "svg", 422),
    Trap("odd goal", _query(f"/workloads/{_PATH}", ("metric", VALUE), ("target", "0.3")), IMAGE, 404),
    Trap("odd target", _query(f"/workloads/{_PATH}", ("metric", ERROR), ("target", SCRIPT)), SCRIPT, 422),
    Trap("counted workload", f"/workloads/{quote(str(COUNTED))}", TEMPLATE),
    Trap("counted study", f"/studies/{quote(str(COUNTED))}/8", TEMPLATE),
    Trap("study", f"/studies/{_PATH}/8", TEMPLATE),
    Trap("scheduled study", f"/studies/{quote(str(COUNTED))}/scheduled", UNIT),
    Trap("scheduled trial", f"/trials/{quote(str(COUNTED))}/scheduled/1", UNIT),
    Trap("viewer", f"/viewer?study={_PATH}/8", TEMPLATE),
    Trap("trial", f"/trials/{_PATH}/8/1", IMAGE),
    Trap("compare", _query("/compare", ("workload", str(WORKLOAD)), ("workload", str(OTHER))), TEMPLATE),
    Trap("results", _query("/results", ("q", SCRIPT), ("organisation", IMAGE))),
    Trap("odd order of results", _query("/results", ("sort", SCRIPT)), SCRIPT, 422),
    Trap("laws", "/laws"),
    Trap(
        "laws of hostile workloads",
        _query("/laws", ("critical_workload", str(WORKLOAD)), ("loss_workload", str(OTHER))),
    ),
    Trap("odd pattern of laws", _query("/laws", ("critical_workload", SCRIPT)), SCRIPT, 422),
    Trap("odd parameters of laws", _query("/laws", ("parameters", SCRIPT)), "", 422),
    Trap("optimizers", "/optimizers"),
    Trap("odd competition", _query("/optimizers", ("collection", SCRIPT)), SCRIPT, 422),
    Trap("batch size", "/batch-size", TEMPLATE),
    Trap("odd workload", _query("/batch-size", ("workload", SCRIPT)), SCRIPT, 422),
    Trap("embedded", _query("/embed/batch-size", ("workload", str(COUNTED))), TEMPLATE),
    Trap("odd data set", _query("/batch-size", ("dataset", SCRIPT)), SCRIPT, 422),
    Trap("papers", "/docs/papers"),
    Trap("frontier", "/compare?dataset=%2A", TEMPLATE),
    Trap("frontier of nothing", _query("/compare", ("dataset", SCRIPT)), SCRIPT, 422),
    Trap("advice", _query(f"/workloads/{_PATH}", ("step_times", f"8=1,{SCRIPT}")), SCRIPT),
    Trap("sql", _query("/sql", ("q", f'SELECT $${SCRIPT}$$ AS "{TEMPLATE}"')), SCRIPT),
    Trap("releases", "/releases"),
    Trap("release", "/releases/1", IMAGE),
    Trap("docs", "/docs"),
    Trap("document", "/docs/rest"),
    Trap("reference", "/docs/reference"),
    Trap("path", "/docs/reference/v1/trials"),
    Trap("schema", "/docs/schema"),
    Trap("methods", "/docs/methods"),
    Trap("nowhere", f"/{quote(SCRIPT)}", "script", 404),
    Trap("unknown workload", f"/workloads/{quote(IMAGE)}/{quote(TEMPLATE)}/a/b", TEMPLATE, 404),
    Trap("unknown parameter", _query("/releases", (IMAGE, SCRIPT))),
)
