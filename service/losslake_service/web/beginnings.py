"""Questions to begin with: what a newcomer may ask this very release, each with the page that answers it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from losslake_schema.names import Study
from losslake_service.web.first_look import FirstLook
from losslake_service.web.page import PageAsked
from losslake_service.web.statements import statement


@dataclass(frozen=True)
class Beginning:
    """A question. says: what the page at `url` shows."""

    question: str
    says: str
    url: str


def beginnings(asked: PageAsked, look: FirstLook) -> Iterator[Beginning]:
    """The questions that this release can answer."""
    workload, goal = look.workload, look.goal
    place = f"{workload.dataset}/{workload.model}"
    query = {"metric": goal.metric, "target": repr(goal.target)}
    yield Beginning(
        f"How far does {workload.optimizer} scale on {place}?",
        f"Steps to {goal.text} at each batch size, and the regimes of scaling.",
        asked.page_of(workload, **query),
    )
    if look.rivals:
        one, other = (rival.optimizer for rival in look.rivals)
        yield Beginning(
            "At which batch size does momentum stop helping?"
            if look.is_about_momentum
            else f"At which batch sizes does {other} need fewer steps than {one}?",
            f"{one} and {other} on {place}, both to {goal.text}.",
            _compared(asked, look.rivals, query),
        )
    yield Beginning(
        f"Which trials reached {goal.text} at batch size {look.batch_size}, and with what learning rate?",
        "Every trial of the study: its curve, its outcome and its metaparameters.",
        asked.page_of(Study(workload, look.batch_size), **query),
    )
    if look.models:
        names = [model.model for model in look.models]
        yield Beginning(
            f"Which model needs the fewest steps on {workload.dataset}?",
            f"{', '.join(names[:-1])} and {names[-1]} with {workload.optimizer}, at each batch size.",
            _compared(asked, look.models, query),
        )
    yield Beginning(
        "How many trials diverged, by optimizer?",
        "A question in SQL to change as you like, with its rows and a chart.",
        asked.url("/sql", q=statement("outcomes")),
    )


def _compared(asked: PageAsked, workloads: tuple[object, ...], query: dict[str, str]) -> str:
    return asked.url("/compare", workload=[str(workload) for workload in workloads], **query)
