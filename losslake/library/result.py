"""The result of a question: rows as an Arrow table, the facts beside them, and what can be made of both."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from losslake_schema.errors import LossLakeError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

MOST_ROWS_SHOWN = 20
# The figures that aren't named for the answer that they draw.
_FIGURES = {"compare": "ratio", "metaparameter-map": "learning-rate-momentum", "profiles": "profile"}
# What analyses of the same selection take over from a question.
_SHARED = (
    "workload", "metric", "target", "direction", "comparator", "trials", "status", "flagged", "where", "only_finished",
    "step_budget", "example_budget",
)  # fmt: skip


class Source(Protocol):
    """The source of answers: a lake, or a service."""

    name: str

    def answer(self, path: str, parameters: Mapping[str, Any], release: int | None) -> pa.Table:
        """Return an answer as an Arrow stream has it, with the facts in the metadata of its schema."""

    def figure(self, kind: str, parameters: Mapping[str, Any], ending: str) -> bytes:
        """Return a figure in a format: svg, png, pdf or vl.json."""

    def sql(self, statement: str, parameters: Any, release: int | None) -> pa.Table:
        """Return the result of a statement."""


class Result:
    """Rows and facts of an answer.

    Its facts are what REST has beside the rows: `result.facts["target"]`. `release`: that answered. It can be given to
    whatever reads Arrow streams (`polars.DataFrame(result)`, `duckdb.sql("FROM result")`, `pyarrow.table(result)`).
    """

    def __init__(self, source: Source, path: str, parameters: Mapping[str, Any], table: pa.Table) -> None:
        """Take the answer to a question: its path, the parameters that were given, and its rows."""
        metadata = dict(table.schema.metadata or {})
        self.facts: dict[str, Any] = json.loads(metadata.pop(b"losslake", b"{}"))
        self._table = table.replace_schema_metadata(metadata or None)
        self._source, self._path, self._parameters = source, path, dict(parameters)

    @property
    def release(self) -> int | None:
        """The release that answered."""
        return self.facts.get("release")

    @property
    def warnings(self) -> list[str]:
        """Warnings about the result, and what it leaves out."""
        return [*self.facts.get("warnings", ()), *(f"left out: {text}" for text in self.facts.get("left_out", ()))]

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._table.column_names)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows as a stream of Arrow's C interface."""
        return self._table.__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return self._table

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a data frame of pandas, which has to be installed."""
        frame: pd.DataFrame = _needing("pandas", self._table.to_pandas)
        return frame

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a data frame of Polars, which has to be installed."""

        def frame() -> pl.DataFrame:
            import polars as pl

            return pl.DataFrame(pl.from_arrow(self._table))

        converted: pl.DataFrame = _needing("polars", frame)
        return converted

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        rows: list[dict[str, Any]] = self._table.to_pylist(maps_as_pydicts="lossy")
        return rows

    def plot(self, **frame: Any) -> Figure:
        """Return the figure of this answer.

        frame: title, width, height (px), theme (light or dark), and the figure's own parameters. Raises LossLakeError
        if the question has no figure.
        """
        answer = self._path.rpartition("/")[2]
        kind = _FIGURES.get(answer, answer)
        parameters = {**self._parameters, "release": self.release, **frame}
        return Figure(self._source, kind, {name: value for name, value in parameters.items() if value is not None})

    def cite(self) -> str:
        """Return how to cite the data, a line for each collection; `bibtex()` has the entries."""
        return "\n".join(row["text"] for row in self._citations())

    def bibtex(self) -> str:
        """Return the BibTeX entries of the data."""
        return "\n\n".join(row["bibtex"] for row in self._citations())

    def _citations(self) -> list[dict[str, Any]]:
        named = self.facts.get("workloads") or self.facts.get("studies") or self.facts.get("trials") or ()
        workloads = sorted({"/".join(name.split("/")[: len(name.split("/")) - self._n_below()]) for name in named})
        table = self._source.answer("/v1/cite", {"workload": workloads}, self.release)
        rows: list[dict[str, Any]] = table.to_pylist()
        return rows

    def _n_below(self) -> int:
        """Return how many parts of the names in the facts are below a workload: batch size, and trial_id."""
        return 0 if self.facts.get("workloads") else 1 if self.facts.get("studies") else 2

    def __repr__(self) -> str:
        about = ", ".join(
            f"{name}={self.facts[name]!r}" for name in ("metric", "target", "measure") if name in self.facts
        )
        shape = f"{len(self):,} rows x {len(self.columns)} columns"
        lines = [f"<{self._path} of {self._source.name}, release {self.release}: {shape}{about and ', ' + about}>"]
        return "\n".join([*lines, *(f"  {text}" for text in self.warnings)])

    def _repr_html_(self) -> str:
        shown = self._table.slice(0, MOST_ROWS_SHOWN).to_pylist(maps_as_pydicts="lossy")
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        rows = "".join(f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row.values())}</tr>" for row in shown)
        more = f"<p>{len(self) - len(shown):,} more rows</p>" if len(self) > len(shown) else ""
        items = "".join(f"<li>{html.escape(text)}</li>" for text in self.warnings)
        about = html.escape(repr(self).partition("\n")[0].strip("<>"))
        return f"<p>{about}</p><table><tr>{head}</tr>{rows}</table>{more}" + (f"<ul>{items}</ul>" if items else "")


class Curve(Result):
    """Steps, or what else was counted, to a target by batch size.

    >>> curve = lake.scaling("bundled/digits/mlp_64/nesterov_momentum", target=0.05)
    >>> round(curve.critical_batch_size().to_dicts()[0]["critical_batch_size"])
    100
    """

    def critical_batch_size(self, **parameters: Any) -> Result:
        """Return the critical batch size of the same selection. parameters: of that question."""
        return self._about("critical-batch-size", parameters)

    def regimes(self, **parameters: Any) -> Result:
        """Return where perfect scaling, diminishing returns and maximal parallelism begin. parameters: as above."""
        return self._about("regimes", parameters)

    def _about(self, analysis: str, more: Mapping[str, Any]) -> Result:
        path = f"/v1/analysis/{analysis}"
        shared = {name: self._parameters[name] for name in _SHARED if self._parameters.get(name) is not None}
        goal = {name: self.facts[name] for name in ("metric", "target", "comparator")}
        parameters = {**shared, **goal, **more}
        result = Result(self._source, path, parameters, self._source.answer(path, parameters, self.release))
        if "seconds" in (measure := self.facts["measure"]):
            text = f"it is of the steps to the target, not of the {measure.replace('_', '-')} of this curve"
            result.facts["warnings"] = [text, *result.facts["warnings"]]
        return result


def result_type(path: str) -> type[Result]:
    """Return the class of the results of a question."""
    return Curve if path == "/v1/scaling" else Result


class Figure:
    """A figure, drawn when it is shown or saved."""

    def __init__(self, source: Source, kind: str, parameters: Mapping[str, Any]) -> None:
        self._source, self._kind, self._parameters = source, kind, dict(parameters)

    def svg(self) -> str:
        """Return the figure as SVG."""
        return self._source.figure(self._kind, self._parameters, "svg").decode()

    def vega_lite(self) -> dict[str, Any]:
        """Return its Vega-Lite specification, with the data."""
        specification: dict[str, Any] = json.loads(self._source.figure(self._kind, self._parameters, "vl.json"))
        return specification

    def save(self, path: str | Path) -> None:
        """Write the figure; the name ends in .svg, .png, .pdf or .vl.json. Raises LossLakeError for another."""
        file = Path(path)
        ending = next((each for each in ("svg", "png", "pdf", "vl.json") if file.name.endswith(f".{each}")), None)
        if ending is None:
            raise LossLakeError(f"{file.name} has none of the endings .svg, .png, .pdf and .vl.json")
        file.write_bytes(self._source.figure(self._kind, self._parameters, ending))

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"<figure {self._kind} of {self._source.name}: .svg(), .save('figure.png')>"


def plain(value: Any) -> Any:
    """Return a parameter as JSON would have it: names as texts, tuples and sets as lists."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Sequence):
        return [plain(each) for each in value]
    return str(value)


def _cell(value: Any) -> str:
    return "" if value is None else html.escape(f"{value:.6g}" if isinstance(value, float) else str(value))


def _needing(library: str, make: Any) -> Any:
    try:
        return make()
    except ModuleNotFoundError as error:
        if error.name != library:
            raise
        raise LossLakeError(f"to_{library}() needs {library}: pip install {library}") from None
