"""Logs of free text, such as a training loop prints: lines matched by the expressions of the mapping's `[text]`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.format import BundledFormat, Glimpse, read_files
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.readers.text_logs.lines import falls, read_text
from losslake_ingest.readers.text_logs.proposal import how_to_read_apart, is_text, proposed_line
from losslake_ingest.readers.text_logs.ranks import check_ranks
from losslake_ingest.sources.member import Member, Source

_NAME = re.compile(r"(?:.*\.)?(?:log|txt|out|err|stdout|stderr|[^.]*log[^.]*)(?:\.[0-9]{1,14})?|[^.]+", re.IGNORECASE)


class Text(BundledFormat):
    """The format of text logs: one run per file."""

    name = "text"

    def detect(self, file: Glimpse) -> float:
        """Recognize a text file by its name; what its lines are, only the mapping knows."""
        return 0.25 if _is_wanted(file.path) and is_text(file.start) else 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """Yield one run per file, or per line that starts one; a file in which no line matches is quarantined."""
        axes = frozenset(axis.column for axis in mapping.axis)
        seen: set[str] = set()

        def runs(member: Member) -> Iterator[RunLog | Quarantined]:
            if member.path in seen:
                raise Refusal(Rule.DUPLICATE_FILE, "the archive holds it twice: the first one is used")
            seen.add(member.path)
            check_ranks(member.data, mapping.text)
            found = read_text(member.data, mapping.text, axes, mapping.time.elapsed_s)
            sha256 = hashlib.sha256(member.data).hexdigest()
            for number, each in enumerate(found, 1):
                run = f"{member.path}#{number}" if mapping.text.starts else member.path
                if each.refusal is None:
                    apart = how_to_read_apart(member.data) if not mapping.text.starts and falls(each, axes) else ""
                    files = {member.path: sha256}
                    yield RunLog(run, files, each.rows, each.fields, remarks=each.remarks, apart=apart)
                else:
                    why = each.refusal
                    yield Quarantined(
                        source.name, run, why.rule, why.message, why.line, sha256=sha256, missing=why.missing
                    )
            if not found:
                message = f"no line matches an expression of [text] lines: {proposed_line(member.data)}"
                yield Quarantined(source.name, member.path, Rule.NO_MEASUREMENTS, message, sha256=sha256)

        return read_files(source, _is_wanted, runs)


def _is_wanted(path: str) -> bool:
    return _NAME.fullmatch(path.rpartition("/")[2]) is not None


FORMAT = Text()
