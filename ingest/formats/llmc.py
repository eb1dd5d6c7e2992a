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
                yield Quarantined(str(source.path), member.path, member.rule, member.message)
            elif _LINE.search(member.data):
                yield _run(member, str(source.path))


def _run(member: Member, source: str) -> RunLog | Quarantined:
    sha256 = hashlib.sha256(member.data).hexdigest()
    steps: dict[bytes, list[int]] = {}
    texts: dict[bytes, list[bytes]] = {}
    n_lines = 0
    for step, pairs in _LINE.findall(member.data):
        n_lines += 1
        at = int(step)
        for key, text in _PAIR.findall(pairs):
            if key not in steps:
                if len(steps) == MOST_KEYS:
                    message = f"more than {MOST_KEYS} different keys stand in its lines: this is no log of llm.c"
                    return Quarantined(source, member.path, Rule.UNREADABLE_LOG, message, sha256=sha256)
                steps[key], texts[key] = [], []
            steps[key].append(at)
            texts[key].append(text)
    remarks: dict[str, int] = {}
    others = member.data.count(b"\n") + (not member.data.endswith(b"\n")) - n_lines
    if others:
        remarks["line that is no 's:STEP key:value' passed over"] = others
    rows = [_rows(key.decode(), steps[key], texts[key], remarks) for key in steps]
    return RunLog(member.path, {member.path: sha256}, rows, remarks=remarks)


def _rows(key: str, steps: list[int], texts: list[bytes], remarks: dict[str, int]) -> LoggedRows:
    """The values of a key; those that are no numbers are left out."""
    try:
        if any(b"_" in text for text in texts):
            raise ValueError  # 1_000 is a number to Python alone
        return LoggedRows({STEP: np.array(steps, np.float64), key: np.array(list(map(float, texts)))})
    except ValueError:
        pairs = [(step, value) for step, text in zip(steps, texts, strict=True) if (value := _number(text)) is not None]
    bad = "value that is no number left out"
    remarks[bad] = remarks.get(bad, 0) + len(steps) - len(pairs)
    return LoggedRows({STEP: np.array([s for s, _ in pairs], np.float64), key: np.array([v for _, v in pairs])})


def _number(text: bytes) -> float | None:
    try:
        return float(text) if b"_" not in text else None
    except ValueError:
        return None


FORMAT = LlmC()
