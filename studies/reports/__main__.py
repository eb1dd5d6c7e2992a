"""Write the two reports of docs/, with their figures: `make reports`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from losslake.figures.papers.drawn import drawn_figure, figure_bytes
from losslake.figures.papers.paper import paper
from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView
from losslake_ingest.run import ingest
from studies.report import ARCHIVE_FILE
from studies.reports.bundled_studies import bundled_studies
from studies.reports.findings import findings

PUBLISHED = Path(__file__).parents[2] / "published"


def write_bundled_studies(view: ReleaseView, docs: Path) -> None:
    """Write the report on the bundled studies, and its figures."""
    text = bundled_studies(view, "bundled-studies")
    known = paper("bundled")
    drawn = {each.number: drawn_figure(view, known, each.number, None) for each in known.figures}
    images = {f"figure-{number}": figure_bytes(each, "svg") for number, each in drawn.items()}
    _write(docs, "bundled-studies", text, images)


def write_findings(view: ReleaseView, docs: Path) -> None:
    """Write the report on the published collections, and its charts."""
    _write(docs, "findings", *findings(view, "findings"))


def _write(docs: Path, name: str, text: str, images: Mapping[str, bytes]) -> None:
    folder = docs / name
    folder.mkdir(parents=True, exist_ok=True)
    for image, svg in images.items():
        (folder / f"{image}.svg").write_bytes(svg)
    (docs / f"{name}.md").write_text(text, "utf-8")
    print(docs / f"{name}.md")


def write_reports(docs: Path) -> None:
    """Write both, each from a temporary lake of what it reports on."""
    with TemporaryDirectory(prefix="losslake-reports-") as folder:
        write_bundled_studies(_lake(Path(folder) / "bundled", [ARCHIVE_FILE]), docs)
        write_findings(_lake(Path(folder) / "published", sorted(PUBLISHED.glob("*/*.tar"))), docs)


def _lake(folder: Path, sources: Sequence[Path]) -> ReleaseView:
    lake = Lake.create(folder)
    ingest(lake, sources)
    return ReleaseView.open(lake, lake.release(None))


if __name__ == "__main__":
    write_reports(PUBLISHED.with_name("docs"))
