"""The log of llm.c: lines `s:STEP key:value …`, train and validation losses in lines of their own.

Source: karpathy/llm.c, llmc/logger.h. A run that is resumed appends, so steps may come again: the last line counts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

import numpy as np

from ingest.formats.defaults_of import defaults_of
from ingest.formats.format import Glimpse
from ingest.mapping.mapping import LogMapping
from ingest.report import Quarantined
from ingest.rules import Rule
from ingest.run_log import LoggedRows, RunLog
from ingest.sources.member import Member, Refused, Source

STEP = "s"
MOST_KEYS = 100
LONGEST_LINE = 1000
_ENDINGS = (".log", ".txt")
_LINE = re.compile(rb"^s:([0-9]{1,18})((?: [A-Za-z_][\w/.-]{0,40}:\S{1,40}){1,20})[ \t]*\r?$", re.MULTILINE)
_FIRST = re.compile(rb"(?:[^\n]{0,400}\n){0,3}s:[0-9]+ (tel|trl|eval):")


class LlmC:
    """One run per file."""

    name = "llmc"
    reads = "main.log of llm.c: lines 's:STEP trl:LOSS' and 's:STEP tel:LOSS'"
    needs = 'collection, dataset, model, optimizer, batch_size (with batch_unit = "tokens")'
    defaults = defaults_of("llmc")

    def detect(self, file: Glimpse) -> float:
        return 0.9 if file.name.endswith(_ENDINGS) and _FIRST.match(file.start) else 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        for member in source.members(lambda path: path.endswith(_ENDINGS)):
            if isinstance(member, Refused):
                yield Quarantined(str(source.path), member.path, member.rule, member.message)
            elif _LINE.search(member.data):
                yield _run(member, str(source.path))


def _run(member: Member, source: str) -> RunLog | Quarantined:
    sha256 = hashlib.sha256(member.data).hexdigest()
    steps: dict[str, list[float]] = {}
    values: dict[str, list[float]] = {}
    remarks: dict[str, int] = {}
    n_lines = 0
    for match in _LINE.finditer(member.data):
        n_lines += 1
        step = float(match[1])
        for pair in match[2].split():
            key, _, text = pair.decode("utf-8", "replace").partition(":")
            try:
                value = float(text)
            except ValueError:
                remarks["value that is no number left out"] = remarks.get("value that is no number left out", 0) + 1
                continue
            steps.setdefault(key, []).append(step)
            values.setdefault(key, []).append(value)
        if len(steps) > MOST_KEYS:
            message = f"more than {MOST_KEYS} different keys stand in its lines: this is no log of llm.c"
            return Quarantined(source, member.path, Rule.UNREADABLE_LOG, message, sha256=sha256)
    others = len(member.data.splitlines()) - n_lines
    if others:
        remarks["line that is no 's:STEP key:value' passed over"] = others
    rows = [LoggedRows({STEP: np.array(steps[key]), key: np.array(values[key])}) for key in steps]
    return RunLog(member.path, {member.path: sha256}, rows, remarks=remarks)


FORMAT = LlmC()
