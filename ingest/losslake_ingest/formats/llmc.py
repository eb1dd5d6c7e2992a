"""The log of llm.c: lines `s:STEP key:value …`, train and validation losses in lines of their own.

Source: karpathy/llm.c, llmc/logger.h. A run that is resumed appends, so steps may come again: the last line counts.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Iterator

import numpy as np

from losslake_ingest.documents import read_number
from losslake_ingest.formats.format import Glimpse, defaults_of
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.report import Quarantined
from losslake_ingest.rules import Rule
from losslake_ingest.run_log import LoggedRows, RunLog
from losslake_ingest.sources.member import Member, Refused, Source

STEP = "s"
MOST_KEYS = 100
_ENDINGS = (".log", ".txt")
_LINE = re.compile(rb"^s:([0-9]{1,18})((?: [A-Za-z_][\w/.-]{0,40}:\S{1,40}){1,20})[ \t]*\r?$", re.MULTILINE)
_PAIR = re.compile(rb"([A-Za-z_][\w/.-]{0,40}):(\S+)")
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
                yield Quarantined(source.name, member.path, member.rule, member.message)
            elif _LINE.search(member.data):
                yield _run(member, source.name)


def _run(member: Member, source: str) -> RunLog | Quarantined:
    sha256 = hashlib.sha256(member.data).hexdigest()
    steps: dict[bytes, array[float]] = {}
    values: dict[bytes, array[float]] = {}
    n_lines = n_bad = 0
    for line in _LINE.finditer(member.data):
        n_lines += 1
        step = float(line[1])
        for key, text in _PAIR.findall(line[2]):
            value = read_number(text)
            if value is None:
                n_bad += 1
                continue
            if key not in steps:
                if len(steps) == MOST_KEYS:
                    message = f"more than {MOST_KEYS} different keys stand in its lines: this is no log of llm.c"
                    return Quarantined(source, member.path, Rule.UNREADABLE_LOG, message, sha256=sha256)
                steps[key], values[key] = array("d"), array("d")
            steps[key].append(step)
            values[key].append(value)
    others = member.data.count(b"\n") + (not member.data.endswith(b"\n")) - n_lines
    remarks = {"line that is no 's:STEP key:value' passed over": others, "value that is no number left out": n_bad}
    rows = [LoggedRows({STEP: np.frombuffer(steps[key]), key.decode(): np.frombuffer(values[key])}) for key in steps]
    return RunLog(member.path, {member.path: sha256}, rows, remarks={what: n for what, n in remarks.items() if n})


FORMAT = LlmC()
