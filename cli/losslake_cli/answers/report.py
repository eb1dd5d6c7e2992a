"""`losslake report`: runs beside stored ones, as a Markdown document with figures and citations."""

from __future__ import annotations

import re
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from losslake.output.imports import without_pandas
from losslake_cli.console import LakeOption, ReleaseOption, ServiceOption, echo, find_lake, library_of, open_lake
from losslake_cli.contributing.push import CollectionOption, MappingOption
from losslake_schema.errors import LossLakeError
from losslake_schema.quantities import counted

if TYPE_CHECKING:
    from losslake.lake.lake import Lake
    from losslake.library.lake import Lake as Library
    from losslake.report.comparison import Goal, Reported
    from losslake.report.document import Document, Frame
    from losslake_contributions.review.checks.local import Checked
    from losslake_ingest.pipeline.reading import Request
    from losslake_schema.names import Study

REPORT = "report.md"
# Rules about what is sent, or told by the status of a run.
_ABOUT_SENDING = ("licence", "others_collection", "private_data", "quarantined", "unfinished")


def report(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH|NAME...",
            help="Folders of recorded runs, or logs, as 'losslake check' reads them; or studies or trials of the lake.",
        ),
    ],
    to: Annotated[Path, typer.Option("--to", metavar="DIR", help="Folder of report.md and its figures.")] = Path(
        "report"
    ),
    lake: LakeOption = None,
    url: ServiceOption = None,
    release: ReleaseOption = None,
    metric: Annotated[
        str | None, typer.Option(metavar="METRIC", help="Metric of a goal, with --target. Default: the runs' goals.")
    ] = None,
    target: Annotated[float | None, typer.Option(metavar="TARGET", help="Target of a goal, with --metric.")] = None,
    collection: CollectionOption = None,
    mapping: MappingOption = None,
    png: Annotated[bool, typer.Option("--png", help="Write each figure as PNG, too.")] = False,
) -> None:
    """Write a report of runs beside stored ones.

    Steps to each goal beside the stored trials of the same data set and model, comparisons at equal tuning budget,
    curves, forecasts of unfinished runs, what is left out, versions and citations. For a paper's appendix or a pull
    request. Nothing is sent or stored.
    """
    without_pandas()
    from losslake.report.comparison import Goal

    if (metric is None) != (target is None):
        raise LossLakeError("give --metric and --target together, or neither: then the goals of the runs count")
    goal = Goal(metric, target, "strict") if metric is not None and target is not None else None
    _check_folder(to)
    paths = [name for name in names if Path(name).exists()]
    if paths and len(paths) < len(names):
        other = next(name for name in names if name not in paths)
        raise LossLakeError(f"{other} doesn't exist: give folders and logs, or studies and trials of a lake, not both")
    command = _command(names, lake, url, metric, target, collection, mapping)
    if paths:
        with _of_paths([*map(Path, paths)], lake, url, release, goal, collection, mapping, command) as made:
            _write(*made, to, png)
    else:
        _write(*_of_names(names, library_of(lake, url, release), goal, command), to, png)


def _check_folder(to: Path) -> None:
    if to.exists() and not to.is_dir():
        raise LossLakeError(f"{to} is no folder: give another one by --to")
    if to.is_dir() and any(to.iterdir()) and not (to / REPORT).is_file():
        raise LossLakeError(f"{to} has other files than a report: give a new or empty folder by --to")


def _command(names: Sequence[str], *options: object) -> str:
    flags = ("--lake", "--url", "--metric", "--target", "--collection", "--map")
    given = [
        text for flag, value in zip(flags, options, strict=True) if value is not None for text in (flag, str(value))
    ]
    return shlex.join(["losslake", "report", *names, *given])


def _of_names(names: Sequence[str], library: Library, goal: Goal | None, command: str) -> tuple[list[Reported], Frame]:
    """Return the trials of a lake, or of a service, that are named."""
    from losslake.report.comparison import Reported
    from losslake.report.document import Frame
    from losslake_schema.names import Trial

    by_workload: dict[str, set[str]] = {}
    for name in names:
        try:
            trial = Trial.parse(name)
            study, trials = trial.study, {str(trial)}
        except LossLakeError:
            study, trials = _study(name), set[str]()
        rows = library.trials(workload=str(study.workload), fields="trial,batch_size").to_dicts()
        size = study.shown_key()["batch_size"]
        known = {row["trial"] for row in rows if row["batch_size"] == size}
        if not trials <= known or not known:
            raise LossLakeError(
                f"there is no {'trial' if trials else 'study'} {name}: 'losslake steps' lists workloads"
            )
        by_workload.setdefault(str(study.workload), set()).update(trials or known)
    pinned = library.release(library.cite().release or 0)
    parts = [Reported(pinned, workload, frozenset(trials), goal) for workload, trials in sorted(by_workload.items())]
    return parts, Frame(pinned, is_draft=False, commands=[_pinned(command, pinned)])


def _study(name: str) -> Study:
    from losslake_schema.names import Study

    try:
        return Study.parse(name)
    except LossLakeError:
        raise LossLakeError(
            f"{name} is neither a file or folder nor a study or trial: give a path, or "
            "collection/dataset/model/optimizer/batch_size, with /trial_id for one trial"
        ) from None


def _pinned(command: str, library: Library) -> str:
    return f"{command} --release {library.cite().release}"


@contextmanager
def _of_paths(
    paths: Sequence[Path],
    lake: str | None,
    url: str | None,
    release: int | None,
    goal: Goal | None,
    collection: str | None,
    mapping: Path | None,
    command: str,
) -> Iterator[tuple[list[Reported], Frame]]:
    """Yield the runs of some paths, in a draft beside the stored workloads."""
    from losslake.report.comparison import Reported
    from losslake.report.document import Frame
    from losslake_contributions.review.checks.local import check_paths
    from losslake_ingest.pipeline.reading import Request

    request = Request(collection, mapping)
    with tempfile.TemporaryDirectory(prefix="losslake-report-") as scratch:
        base = _base(paths, request, Path(scratch), lake, url, release)
        stored = library_of(lake, url, release) if base is not None else None
        if stored is not None:
            stored = stored.release(stored.cite().release or 0)
            command = _pinned(command, stored)
        checks = Path(scratch) / "checks"
        checks.mkdir()
        checked = check_paths(paths, request, checks, base, release=release)
        library = checked.draft.library(checked.draft.after)
        if library is None or not checked.draft.trials:
            raise LossLakeError(
                f"no run can be reported: {'; '.join(map(str, checked.draft.quarantined)) or 'see check'}"
            )
        by_workload: dict[str, set[str]] = {}
        for trial in checked.draft.trials.values():
            by_workload.setdefault(str(trial.study.workload), set()).add(str(trial))
        parts = [Reported(library, name, frozenset(trials), goal) for name, trials in sorted(by_workload.items())]
        yield parts, Frame(stored, is_draft=True, left_out=[*_left_out(checked)], commands=[command])


def _base(
    paths: Sequence[Path], request: Request, scratch: Path, lake: str | None, url: str | None, release: int | None
) -> Lake | None:
    """Return the lake with what is stored, or a copy of what a service has of the runs' workloads; None for nothing."""
    if url is None:
        opened = open_lake(lake) if lake is not None or release is not None else find_lake(None)
        return opened if opened is not None and opened.newest_release() is not None else None
    from losslake.client.client import Client
    from losslake.client.downloading import Selection
    from losslake.client.downloading import download as run
    from losslake.client.service import Service
    from losslake_cli.progress import downloading
    from losslake_contributions.client.conversion import prepare

    facts = [each.facts for each in prepare(paths, request, scratch / "facts").runs.values()]
    tasks = {(str(each.get("dataset")), str(each.get("model"))) for each in facts}
    rows = library_of(lake, url, release).workloads(fields="dataset,model").to_dicts()
    shared = sorted(tasks & {(row["dataset"], row["model"]) for row in rows})
    if not shared:
        return None
    selection = Selection({"dataset": [each for each, _ in shared], "model": [each for _, each in shared]})
    folder = scratch / "service"
    with Client(8) as client, downloading(False) as reporter:
        run(client, Service(client, url), str(folder), release, selection, 8, reporter)
    return open_lake(str(folder))


def _left_out(checked: Checked) -> Iterator[str]:
    """Yield what isn't among the runs, and the doubts of the checks, in words."""
    conversion = checked.conversion
    for each in (*conversion.quarantined, *conversion.left_out, *conversion.broken, *checked.draft.quarantined):
        yield f"not read: {each}".rstrip(".")
    for text in checked.draft.left_out:
        yield f"not compared: {text}".rstrip(".")
    trials = {name: str(trial) for name, trial in checked.draft.trials.items()}
    for finding in checked.report.findings:
        if finding.severity != "note" and finding.rule not in _ABOUT_SENDING:
            message = re.sub("|".join(map(re.escape, trials)), lambda match: trials[match[0]], finding.message)
            of_run = f"{trials.get(finding.run, finding.run)}: " if finding.run else ""
            yield f"{finding.severity} of the checks, {finding.rule}: {of_run}{message}".rstrip(".")


def _write(parts: Sequence[Reported], frame: Frame, to: Path, has_png: bool) -> None:
    """Write a report and its figures, each whole or not at all, the report last."""
    from losslake.report.document import document

    goal = parts[0].goal
    if goal is not None and not any(goal.metric in part.facts["metrics"] for part in parts):
        measured = ", ".join(sorted({name for part in parts for name in part.facts["metrics"]}))
        raise LossLakeError(f"--metric {goal.metric}: no run measures it; they measure {measured}")
    made = document(parts, frame)
    to.mkdir(parents=True, exist_ok=True)
    for name, figure in made.figures.items():
        for ending in ("svg", "png") if has_png else ("svg",):
            figure.save(to / f"{name}.{ending}")
    _replace(to / REPORT, made)
    n = sum(len(part.rows) for part in parts)
    echo(f"wrote        {to / REPORT}: {counted(n, 'run')}, {counted(len(made.figures), 'figure')}")
    for part in parts:
        names = ", ".join(each.name for each in part.compared)
        echo(f"compared     {part.workload} with {names or 'nothing: no stored workload has its data set and model'}")


def _replace(path: Path, made: Document) -> None:
    new = path.with_suffix(".md.new")
    new.write_text(made.text, "utf-8")
    new.replace(path)
