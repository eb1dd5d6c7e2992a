"""Links from marks to the pages of trials and studies, computed in the browser from fields of the rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

Transform = dict[str, Any]
# The field for the computed link, so that rows need not repeat what links share.
HREF = "href"


@dataclass(frozen=True)
class Links:
    """The base of links. address: of the service; empty: relative. release: the one in the request."""

    address: str = ""
    release: int | None = None

    def to_trials(self, workloads: Mapping[str, str], by: str = "series") -> Transform:
        """Return the transform that links rows with batch_size and trial_id. workloads: by value of the field `by`."""
        return self._computed("trials", workloads, by, ("batch_size", "trial_id"))

    def to_studies(self, workloads: Mapping[str, str], by: str = "series") -> Transform:
        """Return the transform that links rows with batch_size. workloads: by value of the field `by`."""
        return self._computed("studies", workloads, by, ("batch_size",))

    def to_workloads(self, names: Iterable[str]) -> Transform:
        """Return the transform that links rows with a workload. names: of the workloads of all rows."""
        return self._computed("workloads", {name: name for name in names}, "workload", ())

    def _computed(self, page: str, workloads: Mapping[str, str], by: str, fields: Sequence[str]) -> Transform:
        slash = "/" if fields else ""
        starts = [literal(f"{self.address}/{page}/{quote(each, safe='/')}{slash}") for each in workloads.values()]
        place = f"indexof({_array(map(literal, workloads))}, datum.{by})"
        start = starts[0] if len(set(starts)) == 1 else f"{_array(starts)}[{place}]"
        path = " + " + " + '/' + ".join(f"datum.{field}" for field in fields) if fields else ""
        end = "" if self.release is None else f" + {literal(f'?release={self.release}')}"
        return {"calculate": f"{start}{path}{end}", "as": HREF}


def literal(text: str) -> str:
    """Return a text as an ASCII literal of a Vega expression, safely escaped."""
    return json.dumps(text)


def _array(items: Iterable[str]) -> str:
    return f"[{', '.join(items)}]"
