"""Laws of the critical batch size in model size and tokens, beside published ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from losslake.analysis.batch_laws import published_laws
from losslake.questions import critical_batch_law
from losslake.questions.critical_batch_law import CriticalBatchLawParameters
from losslake.questions.release.view import ReleaseView
from studies.reports.markdown import NOTHING, interval, number, table

_TIMES = "{:.2f} to {:.2f}"


def laws(view: ReleaseView, pattern: str) -> Mapping[str, str]:
    """Return the points, exponents and distances from published laws as texts. pattern: the workloads."""
    answers = {
        by: critical_batch_law.QUESTION.answer(view, CriticalBatchLawParameters(workload=[pattern], by=by))
        for by in ("mccandlish2018", "zhang2024")
    }
    points = answers["mccandlish2018"].table().to_pylist()
    facts = {by: dict(answer.facts) for by, answer in answers.items()}
    fitted = {by: {law["variable"]: law for law in each["laws"]} for by, each in facts.items()}
    headings = ["model", "parameters", "fewest tokens", "B_c, tokens", "interval"]
    published = [law for law in facts["mccandlish2018"]["published"] if law["n_points"]]
    return {
        "law_points": table(
            headings,
            (
                [
                    row["workload"].split("/")[-2],
                    number(row["parameters"]),
                    number(row["tokens"]),
                    number(row["critical_batch_size"]),
                    interval(row["lower"], row["upper"]),
                ]
                for row in points
            ),
        ),
        **{
            f"{by}_{variable}": f"{law['exponent']:.2f} ({_TIMES.format(law['exponent_lower'], law['exponent_upper'])})"
            for by, each in fitted.items()
            for variable, law in each.items()
        },
        "published_laws": table(
            ["law", "formula", "points over the law", "inside its range"],
            (
                [
                    law["law"],
                    law["formula"],
                    _TIMES.format(law["ratio_lowest"], law["ratio_highest"]),
                    _inside(law),
                ]
                for law in published
            ),
            n_texts=2,
        ),
        "laws_not_compared": "; ".join(_not_compared(facts["mccandlish2018"]["published"])) or NOTHING,
    }


def _inside(law: Mapping[str, Any]) -> str:
    """Return how many points lie in the range of the publication, if it is known."""
    is_known = all(factor.lower is not None for factor in published_laws()[law["law"]].factors)
    return f"{law['n_inside']} of {law['n_points']}" if is_known else "not known"


def _not_compared(published: list[dict[str, Any]]) -> list[str]:
    """Return the laws that can't be compared with the points, by reason."""
    names: dict[str, list[str]] = {}
    for law in published:
        if law["not_compared"]:
            names.setdefault(law["not_compared"].partition(",")[0], []).append(law["law"])
    return [f"{', '.join(each)} ({why})" for why, each in names.items()]
