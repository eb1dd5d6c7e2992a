"""The page of scaling laws: published ones for a planned training, and laws of critical batch sizes and losses."""

from __future__ import annotations

from losslake.analysis.loss_law import FLOPS_PER_PARAMETER
from losslake_service.web.laws.parameters import EXAMPLE, LawsParameters
from losslake_service.web.laws.published_laws import published_laws
from losslake_service.web.laws.stored_laws import critical_section, loss_section
from losslake_service.web.page import Page, PageKind, PageRequest
from losslake_service.web.starting_example import first_chart

PATH = "/laws"


def laws_page(request: PageRequest) -> Page:
    """Return the page; raises BadParameter and UnknownName."""
    parameters: LawsParameters = request.parameters
    planned = parameters.planned()
    compute = FLOPS_PER_PARAMETER * planned.parameters * planned.tokens
    published = published_laws(request, planned)
    critical = critical_section(request, parameters)
    return Page(
        template="laws.html",
        title="Scaling laws",
        description="Batch sizes and learning rates by published laws for a model size and number of tokens, with "
        "their ranges and distance from stored data; laws of critical batch sizes and losses.",
        url=request.url(PATH, **parameters.state),
        content={
            "parameters": parameters,
            "example": EXAMPLE,
            "published": published,
            "critical": critical,
            "loss": loss_section(request, parameters, compute),
        },
        picture=critical.get("chart") or first_chart(request),  # type: ignore[arg-type]
        styles=("atlas.css", "laws.css"),
        data=str(published["json"]),
    )


LAWS = PageKind(PATH, LawsParameters, laws_page)
