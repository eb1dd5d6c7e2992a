"""The pages that are looked at in a browser: one line for each, over the bundled studies."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shown:
    """A page. path: with bundled data; says: a text that its main part shows, without JavaScript as well.

    ready: a selector of what is visible once the page is drawn.
    """

    name: str
    path: str
    says: str
    ready: str = "main"


PAGES = (
    Shown("home", "/", "momentum"),
    Shown("workloads", "/workloads?q=sgd", "digits/softmax/sgd"),
    Shown(
        "workload", "/workloads/bundled/digits/mlp_64/nesterov_momentum", "Critical batch size", ready=".live canvas"
    ),
    Shown("sql", "/sql?q=SELECT%20DISTINCT%20optimizer%20FROM%20workloads", "nesterov_momentum", ready=".rows"),
    Shown(
        "compare",
        "/compare?workload=bundled/digits/mlp_64/sgd&workload=bundled/digits/mlp_64/momentum",
        "momentum saves steps from batch size 64 on",
        ready=".live canvas",
    ),
    Shown("study", "/studies/bundled/digits/mlp_64/nesterov_momentum/64", "learning_rate", ready=".chart"),
    Shown("trial", "/trials/bundled/digits/mlp_64/nesterov_momentum/64/33", "sha256", ready=".live canvas"),
    Shown("releases", "/releases", "the first release"),
    Shown("release", "/releases/1", "trials.parquet"),
    Shown("schema", "/docs/schema", "steps_to_result"),
    Shown("methods", "/docs/methods", "Critical batch size"),
    Shown("docs", "/docs", "/v1/scaling"),
)
