"""The query of the page of scaling laws, and the training that it plans."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from losslake.questions.recommend import LARGEST_COUNT, LARGEST_LOSS, RecommendParameters
from losslake.questions.release.errors import BadParameter
from losslake_schema.names import real_number
from losslake_schema.quantities import read_count
from losslake_service.web.page import PageParameters

# The training that the page begins with.
EXAMPLE = {"parameters": "1B", "tokens": "20B"}
# Hoffmann et al. 2022, where only one of both numbers is given.
TOKENS_PER_PARAMETER = 20.0


class LawsParameters(PageParameters):
    """The query of the page. Default of the training: an example; of one of its numbers: 20 tokens per parameter."""

    parameters: str = ""
    """Parameters of the model, without embeddings, as people write them: 7e9, 7B."""
    tokens: str = ""
    """Tokens of the training, likewise."""
    loss: str = ""
    """The loss that it is to reach."""
    critical_workload: str = ""
    """The pattern of the workloads whose critical batch sizes are points of laws."""
    by: Literal["mccandlish2018", "zhang2024"] | None = None
    """The definition of these."""
    loss_workload: str = ""
    """The pattern of the workloads whose losses are points of a law."""
    metric: str = ""
    """The loss; default: a cross-entropy."""
    points: Literal["final", "all"] | None = None
    """The evaluations that are fitted; default: final, or all where each model size was trained once."""
    after: Annotated[float | None, Field(ge=0, lt=1, allow_inf_nan=False)] = None
    """For points=all: only evaluations beyond this share of the steps of their trial."""
    draw: Literal["settings", "models"] | None = None
    """The unit that the bootstrap of the law of the loss draws as a whole; default: models, if they are enough."""

    @property
    def is_example(self) -> bool:
        """True if neither parameters nor tokens are given."""
        return not (self.parameters or self.tokens)

    @property
    def is_partial(self) -> bool:
        """True if one of parameters and tokens is given, and the other one follows from it."""
        return bool(self.parameters) != bool(self.tokens)

    @property
    def state(self) -> dict[str, object]:
        """The parameters that are given, by name: those of links to this state of the page."""
        values = {name: getattr(self, name) for name in LawsParameters.model_fields if name != "release"}
        return {name: value for name, value in values.items() if name in self.model_fields_set and value != ""}

    def planned(self) -> RecommendParameters:
        """Return the training; raises BadParameter."""
        given = EXAMPLE if self.is_example else {"parameters": self.parameters, "tokens": self.tokens}
        size = _count("parameters", given["parameters"], "7e9 or 7B")
        tokens = _count("tokens", given["tokens"], "1.4e12 or 1.4T")
        return RecommendParameters(
            parameters=size or max((tokens or 0) / TOKENS_PER_PARAMETER, 1.0),
            tokens=tokens or min((size or 0) * TOKENS_PER_PARAMETER, LARGEST_COUNT),
            loss=self._loss(),
        )

    def _loss(self) -> float | None:
        if not self.loss:
            return None
        value = real_number(self.loss)
        # NaN fails both comparisons.
        if value is None or not 0 < value <= LARGEST_LOSS:
            raise BadParameter("loss", f"loss: give a number above 0, up to {LARGEST_LOSS:g}, such as 2.5")
        return value


def _count(name: str, text: str, examples: str) -> float | None:
    """Return the number that a text says, None for an empty one; raises BadParameter."""
    value = read_count(text)
    if text and (value is None or not 1 <= value <= LARGEST_COUNT):
        raise BadParameter(name, f"{name}: give a number from 1 to {LARGEST_COUNT:g}, such as {examples}")
    return value
