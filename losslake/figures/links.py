"""Links from marks to the pages of trials and studies, computed in the browser from fields of the rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import quote, urlencode

from losslake_schema.names import SCHEDULED

Transform = dict[str, Any]
# The field for the computed link, so that rows need not repeat what links share.
HREF = "href"
Pages = Literal["workloads", "studies", "trials"]
# A batch size that changes is null.
_SIZE = f"(datum.batch_size || '{SCHEDULED}')"
# The parts of the address after the workload.
_FIELDS: Mapping[Pages, Sequence[str]] = {
    "workloads": (),
    "studies": (_SIZE,),
    "trials": (_SIZE, "datum.trial_id"),
}


@dataclass(frozen=True)
class Links:
    """The base of links. address: of the service; empty: relative. release: the one in the request.

    goal: the metric and the target that the pages are about; default: those of each page.
    """

    address: str = ""
    release: int | None = None
    goal: Mapping[str, object] = field(default_factory=dict)

    def to(self, pages: Pages, workloads: Mapping[str, str], by: str = "series") -> Transform:
        """Return the transform that links rows with the fields of such pages. workloads: by value of the field `by`."""
        fields = _FIELDS[pages]
        slash = "/" if fields else ""
        starts = [literal(f"{self.address}/{pages}/{quote(each, safe='/')}{slash}") for each in workloads.values()]
        place = f"indexof({_array(map(literal, workloads))}, datum.{by})"
        start = starts[0] if len(set(starts)) == 1 else f"{_array(starts)}[{place}]"
        path = " + " + " + '/' + ".join(fields) if fields else ""
        query = {**self.goal, "release": self.release}
        pairs = urlencode({name: value for name, value in query.items() if value is not None}, safe="/")
        end = f" + {literal(f'?{pairs}')}" if pairs else ""
        return {"calculate": f"{start}{path}{end}", "as": HREF}


def literal(text: str) -> str:
    """Return a text as an ASCII literal of a Vega expression, safely escaped."""
    return json.dumps(text)


def _array(items: Iterable[str]) -> str:
    return f"[{', '.join(items)}]"
