"""Links from marks to the explorer's pages, of trials and of studies; the browser computes them from what rows hold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

Transform = dict[str, Any]
HREF = "href"
"""The field that a link is computed into: rows need not repeat what they share."""


@dataclass(frozen=True)
class Links:
    """Where pages are. address: of the service; empty: where the figure is. release: the one that was asked for."""

    address: str = ""
    release: int | None = None

    def to_trials(self, workloads: Mapping[str, str], by: str = "series") -> Transform:
        """Return the links of rows with batch_size and trial_id. workloads: by value of the field `by` of rows."""
        return self._computed("trials", workloads, by, ("batch_size", "trial_id"))

    def to_studies(self, workloads: Mapping[str, str], by: str = "series") -> Transform:
        """Return the links of rows with batch_size. workloads: by value of the field `by` of rows."""
        return self._computed("studies", workloads, by, ("batch_size",))

    def _computed(self, page: str, workloads: Mapping[str, str], by: str, fields: Iterable[str]) -> Transform:
        starts = [literal(f"{self.address}/{page}/{quote(each, safe='/')}/") for each in workloads.values()]
        place = f"indexof({_array(map(literal, workloads))}, datum.{by})"
        start = starts[0] if len(set(starts)) == 1 else f"{_array(starts)}[{place}]"
        path = " + '/' + ".join(f"datum.{field}" for field in fields)
        end = "" if self.release is None else f" + {literal(f'?release={self.release}')}"
        return {"calculate": f"{start} + {path}{end}", "as": HREF}


def literal(text: str) -> str:
    """Return a text as an expression has it, in ASCII: nothing in it ends the literal, whatever it holds."""
    return json.dumps(text)


def _array(items: Iterable[str]) -> str:
    return f"[{', '.join(items)}]"
