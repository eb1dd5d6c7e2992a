"""Links from marks to the explorer's pages: of a trial, of a study."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from losslake.figures.panel import Series

HREF = "href"
"""The field that a link is computed into, in the browser: rows need not repeat what they share."""
Transform = dict[str, Any]


@dataclass(frozen=True)
class Links:
    """Where pages are. address: of the service; empty: where the figure is. release: that the question named."""

    address: str = ""
    release: int | None = None

    def to_trials(self, series: Sequence[Series]) -> Transform:
        """For rows with series, batch_size and trial_id."""
        return self._computed("trials", _by_label(series), "series", ("batch_size", "trial_id"))

    def to_studies(self, series: Sequence[Series]) -> Transform:
        """For rows with series and batch_size."""
        return self._computed("studies", _by_label(series), "series", ("batch_size",))

    def to_trials_of(self, workloads: Sequence[str]) -> Transform:
        """For rows with workload, batch_size and trial_id."""
        return self._computed("trials", {each: each for each in workloads}, "workload", ("batch_size", "trial_id"))

    def _computed(self, page: str, workloads: Mapping[str, str], by: str, fields: Sequence[str]) -> Transform:
        """workloads: by value of the field `by`."""
        starts = [literal(f"{self.address}/{page}/{quote(each, safe='/')}/") for each in workloads.values()]
        place = f"indexof({_listed(map(literal, workloads))}, datum.{by})"
        start = starts[0] if len(set(starts)) == 1 else f"{_listed(starts)}[{place}]"
        path = " + '/' + ".join(f"datum.{field}" for field in fields)
        end = "" if self.release is None else f" + {literal(f'?release={self.release}')}"
        return {"calculate": f"{start} + {path}{end}", "as": HREF}


def literal(text: str) -> str:
    """A text as an expression has it, in ASCII: nothing in it ends the literal, whatever it holds."""
    return json.dumps(text)


def _by_label(series: Sequence[Series]) -> dict[str, str]:
    return {one.label: one.workload for one in series}


def _listed(items: Iterable[str]) -> str:
    return f"[{', '.join(items)}]"
