"""A stand-in of W&B's server on loopback: it keeps what `wandb sync` uploads, and answers what `wandb.Api` asks.

The requests are those of the library itself, wandb 0.31; what the server answers is made up, since the real one can't
be reached by a test.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.cli.web import Reply, Web, as_json, running

KEY = "a1b2c3d4e5" * 4  # made up
HEAVY = ("config", "systemMetrics", "summaryMetrics", "historyKeys")


@dataclass
class ServedRun:
    """A run: what the library uploaded of it, and lines of its history. is_exported: to a Parquet file."""

    facts: dict[str, Any]
    lines: list[str] = field(default_factory=list)
    state: str = "finished"
    heartbeat: str = "2026-11-30T10:00:00Z"
    is_exported: bool = False
    is_broken: bool = False

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]

    def between(self, low: int, high: int) -> list[str]:
        return [line for line, row in zip(self.lines, self.rows, strict=True) if low <= row["_step"] < high]

    def node(self, name: str) -> dict[str, Any]:
        last = max((row["_step"] for row in self.rows), default=-1)
        return {
            "id": "UnVuOg==",
            "projectId": "1",
            "name": name,
            "displayName": self.facts.get("displayName"),
            "tags": self.facts.get("tags") or [],
            "group": self.facts.get("groupName"),
            "jobType": None,
            "sweepName": None,
            "state": self.state,
            "config": self.facts["config"],
            "summaryMetrics": self.facts.get("summaryMetrics") or "{}",
            "systemMetrics": "{}",
            "commit": None,
            "readOnly": True,
            "createdAt": "2026-11-30T09:00:00Z",
            "heartbeatAt": self.heartbeat,
            "description": None,
            "notes": "written by jane@sec-mail.org",
            "historyLineCount": len(self.lines),
            "historyKeys": {"lastStep": last, "keys": {}},
            "user": {"name": "Jane", "username": "janeroe"},
        }


class WandbService:
    """The runs of the project ann/proj. asked: the names of the requests of the API."""

    def __init__(self, web: Web) -> None:
        self.web = web
        self.runs: dict[str, ServedRun] = {}
        self.asked: list[str] = []
        web.posts["/graphql"] = self._answer
        self._answers = {
            "Viewer": self._viewer,
            "GetDefaultEntity": self._viewer,
            "UpsertBucket": self._upsert,
            "CreateRunFiles": self._create_files,
            "Runs": self._list,
            "Run": self._one,
            "RunHistoryKeys": self._one,
            "RunParquetHistory": self._exports,
            "HistoryPage": self._page,
        }

    @property
    def environment(self) -> dict[str, str]:
        return {"WANDB_BASE_URL": self.web.url, "WANDB_API_KEY": KEY, "WANDB_ERROR_REPORTING": "false"}

    def sync(self, folder: Path, run: str) -> None:
        """Let the library upload the offline run in a folder."""
        self.web.posts[f"/files/ann/proj/{run}/file_stream"] = lambda body: self._stream(run, body)
        (offline,) = folder.glob("wandb/offline-run-*")
        command = [sys.executable, "-m", "wandb", "sync", str(offline)]
        own = self.environment | {"HOME": str(folder), "WANDB_SILENT": "true"}
        subprocess.run(command, env=os.environ | own, cwd=folder, check=True, timeout=120, capture_output=True)

    def copy(self, run: str, name: str, **changes: Any) -> None:
        """Serve a run again under another name, with other facts or rows."""
        served = self.runs[run]
        self.runs[name] = replace(served, **{"facts": served.facts, "lines": served.lines} | changes)

    def _stream(self, run: str, body: Any) -> Reply:
        history = body.get("files", {}).get("wandb-history.jsonl")
        if history:
            del self.runs[run].lines[history["offset"] :]
            self.runs[run].lines += history["content"]
        summary = body.get("files", {}).get("wandb-summary.json")
        if summary:
            self.runs[run].facts["summaryMetrics"] = summary["content"][-1]
        return Reply([as_json({"exitcode": None, "limits": {}})])

    def _answer(self, body: Any) -> Reply:
        match = re.search(r"(?:query|mutation)\s+(\w+)", body["query"])
        name = match[1] if match else ""
        self.asked.append(name)
        variables = body.get("variables") or {}
        run = self.runs.get(variables.get("name") or variables.get("runName") or variables.get("run") or "")
        if run is not None and run.is_broken and name == "HistoryPage":
            return Reply([as_json({"errors": [{"message": "the history\nis \x1b[31mbroken"}]})])
        return Reply([as_json({"data": self._answers[name](variables, run)})])

    def _viewer(self, _: Any, __: Any) -> Any:
        return {"viewer": {"id": "x", "entity": "ann", "username": "ann", "flags": "{}", "teams": {"edges": []}}}

    def _upsert(self, variables: Any, run: ServedRun | None) -> Any:
        facts = {name: value for name, value in variables.items() if value is not None}
        name = variables["name"]
        if run is None:
            self.runs[name] = ServedRun(facts)
        else:
            run.facts |= facts
        project = {"id": "p", "name": "proj", "entity": {"id": "e", "name": "ann"}}
        bucket = {"id": "UnVuOg==", "name": name, "displayName": "", "config": "{}", "project": project}
        return {"upsertBucket": {"bucket": bucket, "inserted": True}}

    def _create_files(self, _: Any, __: Any) -> Any:
        return {"createRunFiles": {"runID": "UnVuOg==", "uploadHeaders": [], "files": []}}

    def _list(self, variables: Any, _: Any) -> Any:
        """Return a page of the list of runs, without what only the answer about one run has."""
        names = list(self.runs)
        start = int(variables.get("cursor") or 0)
        page = names[start : start + 2]
        nodes = [self.runs[name].node(name) for name in page]
        edges = [
            {"node": {key: value for key, value in node.items() if key not in HEAVY}, "cursor": str(start + number)}
            for number, node in enumerate(nodes, 1)
        ]
        more = {"endCursor": str(start + len(page)), "hasNextPage": start + len(page) < len(names)}
        return {"project": {"internalId": "1", "runCount": len(names), "runs": {"edges": edges, "pageInfo": more}}}

    def _one(self, variables: Any, run: ServedRun | None) -> Any:
        assert run is not None
        return {"project": {"run": run.node(variables["name"])}}

    def _exports(self, variables: Any, run: ServedRun | None) -> Any:
        assert run is not None
        history: dict[str, Any] = {"parquetUrls": [], "liveData": run.rows[:1]}
        if run.is_exported:
            path = f"/{variables['runName']}.parquet"
            file = BytesIO()
            pq.write_table(pa.Table.from_pylist(run.rows, _schema(run.rows)), file)
            self.web.served[path] = file.getvalue()
            history = {"parquetUrls": [f"{self.web.url}{path}"], "liveData": []}
        return {"project": {"run": {"parquetHistory": history}}}

    def _page(self, variables: Any, run: ServedRun | None) -> Any:
        assert run is not None
        lines = run.between(variables["minStep"], variables["maxStep"])
        return {"project": {"run": {"history": lines[: variables["pageSize"]]}}}


def _schema(rows: list[dict[str, Any]]) -> pa.Schema:
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.schema([(name, pa.int64() if name == "_step" else pa.float64()) for name in names])


@contextmanager
def wandb_service() -> Iterator[WandbService]:
    """Yield a stand-in without runs."""
    with running() as web:
        yield WandbService(web)
