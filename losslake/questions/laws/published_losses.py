"""The published laws of the loss by model size and tokens, and how far they are off on points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal

import numpy as np

from losslake.analysis.loss_law import KaplanLaw, LossLaw
from losslake.output.rows import shown
from losslake.questions.declaration.summary import Summary
from losslake_schema.package_files import read_toml
from losslake_schema.reached import Floats


@dataclass(frozen=True)
class PublishedLaw:
    """A law of losses.toml. size: whether its N counts the embeddings. text: the formula with its numbers."""

    name: str
    size: Literal["with", "without"]
    law: LossLaw | KaplanLaw
    text: str
    data: str
    source: str


class PublishedLawSummary(Summary):
    """A published law beside the points."""

    name: Annotated[str, shown("hoffmann2022")]
    formula: Annotated[str, shown("1.69 + 406.4/N^0.34 + 410.7/D^0.28")]
    size: Annotated[Literal["with", "without"], shown("with")]
    data: Annotated[str, shown("MassiveText; over 400 models")]
    source: Annotated[str, shown("Hoffmann et al. 2022, arXiv:2203.15556")]
    n_points: Annotated[int, shown(240, "points")]
    median_residual: Annotated[float | None, shown(0.012, "none: of natural logarithms")]
    spread: Annotated[float | None, shown(0.02, "none: of natural logarithms")]


@cache
def published_laws() -> tuple[PublishedLaw, ...]:
    """Return the published laws, by year."""
    return tuple(map(_read, read_toml("losslake.questions.laws", "losses.toml")["laws"]))


def _read(entry: dict[str, Any]) -> PublishedLaw:
    law: LossLaw | KaplanLaw
    if entry["form"] == "kaplan":
        law = KaplanLaw(*(entry[name] for name in ("N_c", "D_c", "alpha_N", "alpha_D")))
        text = f"(({law.n_c:g}/N)^({law.alpha_n:g}/{law.alpha_d:g}) + {law.d_c:g}/D)^{law.alpha_d:g}"
    else:
        law = LossLaw(*(entry[name] for name in ("E", "A", "B", "alpha", "beta")))
        text = formula(law)
    return PublishedLaw(entry["name"], entry["size"], law, text, entry["data"], entry["source"])


def formula(law: LossLaw) -> str:
    """Return a law with its numbers: 1.69 + 406.4/N^0.34 + 410.7/D^0.28."""
    return f"{law.e:.5g} + {law.a:.5g}/N^{law.alpha:.4g} + {law.b:.5g}/D^{law.beta:.4g}"


def beside_points(sizes: dict[str, Floats], tokens: Floats, losses: Floats) -> Iterator[dict[str, Any]]:
    """Yield the entries of PublishedLawSummary. sizes: of the points, with and without embeddings; NaN for unknown."""
    for each in published_laws():
        size = sizes[each.size]
        is_known = np.isfinite(size)
        residuals = np.log(losses[is_known]) - np.log(each.law.losses(size[is_known], tokens[is_known]))
        median = float(np.median(residuals)) if len(residuals) else None
        yield {
            "name": each.name,
            "formula": each.text,
            "size": each.size,
            "data": each.data,
            "source": each.source,
            "n_points": len(residuals),
            "median_residual": median,
            "spread": None if median is None else float(np.sqrt(np.mean(np.square(residuals - median)))),
        }
