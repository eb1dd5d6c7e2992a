"""A damaged log is never stored as COMPLETE with other content, without a line that names the file.

The exception is damage that leaves a log as its writer could have written it, such as another digit: no reader can
know. Then what is stored is what an independent reader in plain Python reads, which refuses whatever is unusual.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import SourceBroken
from losslake_ingest.contracts.run_log import NOT_UTF8
from losslake_ingest.contracts.study import LoadedPart, StudyRejected
from losslake_ingest.pipeline.gather import Stored
from losslake_ingest.pipeline.reading import UNREAD, Request, SourceReading
from losslake_ingest.plan import IngestPlan, plan_ingest
from losslake_ingest.sources.open import open_source
from tests.ingest.made_up.logs import Content, MadeUp, runs
from tests.ingest.offers import Files, unpacked
from tests.ingest.test_random_series import EVERY


def in_plain_words(part: LoadedPart) -> Iterator[tuple[str, str, dict[str, object], dict[str, dict[int, str]]]]:
    """The run, status, facts and values of each trial."""
    for at, trial in enumerate(part.trials):
        curve = part.curves.trial(at)
        facts: dict[str, object] = {"batch_size": float(part.facts.study.batch_size)}
        facts |= {name: json.loads(text) for name, text in trial.attributes.items() if name != "step"}
        values = {}
        for metric, column in sorted(curve.values.items()):
            missing = curve.missing.get(metric, [False] * len(column))
            rows = zip(curve.steps.tolist(), column.tolist(), missing, strict=True)
            values[metric] = {step: repr(value) for step, value, is_missing in rows if not is_missing}
        yield trial.source, trial.status, facts | dict(trial.parameters), {name: v for name, v in values.items() if v}


def stored(folder: Path) -> tuple[Content, list[str], set[str]]:
    """What an ingest stores as COMPLETE, the lines that it reports, and the other runs that it stores."""
    reading = SourceReading(open_source(folder), Request(), Stored(None, []))
    complete: Content = {}
    lines: list[object] = []
    others: set[str] = set()
    try:
        for item in reading.items():
            if isinstance(item, Quarantined):
                lines.append(item)
                continue
            try:
                part = item.load()
            except StudyRejected as rejection:
                lines.append(rejection.reason)
                continue
            lines += part.quarantined
            for run, status, facts, values in in_plain_words(part):
                if status == "COMPLETE":
                    complete[run] = facts, values
                else:
                    others.add(run)
    except SourceBroken as broken:
        lines.append(broken)
    report = reading.report()
    lines += [remark for remark, _ in report.remarks]
    if report.other_files:
        lines.append(f"{report.other_files} files of other kinds")
    return complete, [str(line) for line in lines], others


def damaged(made: MadeUp, files: Files, places: int, chance: Random) -> Iterator[tuple[str, str, bytes]]:
    """The kind of damage, the file, and its damaged bytes: cuts and flipped bits at random places of random files."""
    paths = [path for path in files if path.endswith(made.logs)]
    for _ in range(places):
        path = chance.choice(paths)
        yield "cut", path, files[path][: chance.randrange(1, len(files[path]))]
    for _ in range(places):
        path = chance.choice(paths)
        at = chance.randrange(len(files[path]))
        flipped = files[path][at] ^ 1 << chance.randrange(8)
        yield "flip", path, files[path][:at] + bytes([flipped]) + files[path][at + 1 :]
    for path in {path.rpartition("/")[2]: path for path in paths}.values():
        for data in made.spoiled(files[path]):
            yield "bad cell", path, data
        if files[path].isascii() and b"\0" not in files[path]:
            for encoding in made.encodings:
                yield encoding, path, files[path].decode().encode(encoding)


def read_independently(made: MadeUp, files: Files) -> Content | None:
    try:
        return made.read(files)
    except Exception:  # noqa: BLE001 - it is only a log if nothing about it is wrong
        return None


def names(line: str, path: str, run: str | None) -> bool:
    """Whether a line has the path of a file, or the folder of its run and its path within that.

    run: the folder of a run that has no other log, which is as good.
    """
    splits = [(path[:at], path[at + 1 :]) for at, character in enumerate(path) if character == "/"]
    return path in line or any(head in line and tail in line for head, tail in splits) or (run or path) in line


def outcome(made: MadeUp, folder: Path, files: Files, usual: set[str], path: str, data: bytes) -> str:
    """What becomes of a damaged file. usual: the lines on the undamaged logs. After a colon: what is wrong."""
    whole = made.read(files)
    unpacked(folder, {path: data})
    complete, lines, others = stored(folder)
    unpacked(folder, {path: files[path]})
    if complete == whole:
        return "same"
    home = path.rpartition("/")[0]
    beside = [other for other in files if other.startswith(f"{home}/")]
    if any(names(line, path, home if beside == [path] else None) for line in set(lines) - usual):
        return "named"
    wrong = {run: content for run, content in complete.items() if content != whole.get(run)}
    lost = whole.keys() - complete.keys() - others
    if lost and not wrong and all(any(run in line for line in set(lines) - usual) for run in lost):
        return "refused"
    if not wrong and complete.keys() | others >= whole.keys():
        return "incomplete"
    if complete.items() <= (read_independently(made, {**files, path: data}) or {}).items():
        return "another log"
    return f"{'stored' if wrong else 'silent'}: {lines} {wrong}"


@pytest.mark.parametrize("made", EVERY, ids=lambda made: made.name)
@pytest.mark.parametrize(
    ("places", "seed"), [(2, 7), *(pytest.param(20, seed, marks=pytest.mark.slow) for seed in range(1, 5))]
)
def test_nothing_damaged_is_stored_as_complete_without_a_line_that_names_its_file(
    tmp_path: Path, made: MadeUp, places: int, seed: int
) -> None:
    files = made.write(runs(made, seed, 2))
    (tmp_path / "losslake.toml").write_text(made.mapping)
    complete, usual, _ = stored(unpacked(tmp_path, files))
    assert complete == made.read(files)
    outcomes: Counter[str] = Counter()
    faults = []
    for kind, path, data in damaged(made, files, places, Random(f"{made.name} {seed}")):
        result = outcome(made, tmp_path, files, set(usual), path, data)
        outcomes[result.partition(":")[0]] += 1
        faults += [f"{kind} of {path}: {result[:500]}"] if ":" in result else []
    print(f"{made.name}: {outcomes.total()} tried: {dict(outcomes)}")
    assert not faults, "\n" + "\n".join(faults)


MAPPING = """
collection.name = "c"
run = { dataset = "d", model = "m", optimizer = "o", batch_size = 10 }
"""
ROWS = [(step, 1 / step, step / 50) for step in range(1, 40)]
LOGS = {
    "log.csv": "step,val_loss,val_accuracy\n" + "".join(f"{s},{a!r},{b!r}\n" for s, a, b in ROWS),
    "log.jsonl": "".join(f'{{"step": {s}, "val_loss": {a!r}, "val_accuracy": {b!r}}}\n' for s, a, b in ROWS),
}


def planned(folder: Path, name: str, data: bytes) -> IngestPlan:
    (folder / "losslake.toml").write_text(MAPPING)
    (folder / name).write_bytes(data)
    return plan_ingest(None, [folder], Request())


@pytest.mark.parametrize("name", LOGS)
def test_a_log_cut_inside_a_line_is_incomplete_and_named(tmp_path: Path, name: str) -> None:
    text = LOGS[name].encode()
    last = text.rindex(b"\n", 0, -1) + 1
    cuts = range(last + 1, last + 3)
    for cut in cuts:
        plan = planned(tmp_path, name, text[:cut])
        assert [item.path for item in plan.quarantined if item.rule == "damaged_log"] == [name]
        assert [dict(study.statuses) for study in plan.studies.values()] == [{"INCOMPLETE": 1}]
    print(f"{name}: {len(cuts)} cuts tried")


def test_an_unreadable_side_file_is_named_and_its_runs_are_refused(tmp_path: Path) -> None:
    (tmp_path / "hparams.yaml").write_text("lr: !!python/object:numpy.float64 {}\n")
    plan = planned(tmp_path, "log.csv", LOGS["log.csv"].encode())
    rule = "unreadable_side_file"
    assert [(item.rule, item.path) for item in plan.quarantined] == [(rule, "hparams.yaml"), (rule, "log.csv")]
    assert not plan.studies


@pytest.mark.parametrize("name", LOGS)
def test_a_name_of_a_column_that_is_not_utf8_is_remarked_with_the_file(tmp_path: Path, name: str) -> None:
    plan = planned(tmp_path, name, LOGS[name].encode().replace(b"val_accuracy", b"val_\xe1ccuracy", 1))
    assert (f"{NOT_UTF8} (first in {name})", 1) in plan.sources[0].remarks


def test_a_file_that_is_not_recognized_beside_logs_like_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "other.log").write_bytes(b"not a line of llm.c\n")
    plan = planned(tmp_path, "main.log", b"s:0 tel:1.5\ns:1 tel:1.25\n")
    assert [count for remark, count in plan.sources[0].remarks if remark == f"{UNREAD} (first in other.log)"] == [1]
