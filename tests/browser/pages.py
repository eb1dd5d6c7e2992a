"""The pages that are tested in a browser over the bundled studies, one line each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shown:
    """A page. path: with bundled data; says: a text of its main element, with and without JavaScript.

    ready: a selector of an element that is visible once the page is rendered.
    of: of a page that other sites frame, the path of the page it is a part of, to which link previews belong.
    """

    name: str
    path: str
    says: str
    ready: str = "main"
    of: str = ""


PAGES = (
    Shown("home", "/", "momentum"),
    Shown("workloads", "/workloads?q=sgd", "softmax on Digits, SGD"),
    Shown(
        "workload", "/workloads/bundled/digits/mlp_64/nesterov_momentum", "Critical batch size", ready=".live canvas"
    ),
    Shown(
        "sql",
        "/sql?q=SELECT%20DISTINCT%20optimizer%20FROM%20workloads%20ORDER%20BY%20ALL",
        "nesterov_momentum",
        ready=".rows",
    ),
    Shown(
        "compare",
        "/compare?workload=bundled/digits/mlp_64/sgd&workload=bundled/digits/mlp_64/momentum",
        "this may be chance: each has a 5% chance of error",
        ready=".live canvas",
    ),
    Shown("atlas", "/batch-size", "11 of 11 workloads", ready=".live canvas"),
    Shown(
        "embedded",
        "/embed/batch-size?workload=bundled/digits/mlp_64/sgd",
        "Critical batch size",
        ready=".live canvas",
        of="/batch-size?workload=bundled/digits/mlp_64/sgd&metric=val/classification_error&target=0.035",
    ),
    Shown("laws", "/laws", "2 laws of the optimal batch size give"),
    Shown("optimizers", "/optimizers", "This release has no competition of AlgoPerf."),
    Shown(
        "frontier",
        "/compare?dataset=digits&metric=val/cross_entropy_error&measure=examples&colour=model",
        "On the front",
        ready=".live canvas",
    ),
    Shown(
        "advice",
        "/workloads/bundled/digits/mlp_64/nesterov_momentum?step_times=16%3D0.01%2C1024%3D0.03&price=2.5",
        "Fastest: batch size",
        ready=".live canvas",
    ),
    Shown("papers", "/docs/papers", "Steps to result by optimizer"),
    Shown("results", "/results", "no submissions to MLPerf"),
    Shown("study", "/studies/bundled/digits/mlp_64/nesterov_momentum/64", "learning_rate", ready=".chart"),
    Shown(
        "viewer",
        "/viewer?metric=val/cross_entropy_error&study=bundled/digits/mlp_64/nesterov_momentum/64&colour=learning_rate",
        "64 trials",
        ready=".viewer[data-drawn]",
    ),
    Shown("trial", "/trials/bundled/digits/mlp_64/nesterov_momentum/64/33", "SHA-256", ready=".live canvas"),
    Shown("releases", "/releases", "the first release"),
    Shown("release", "/releases/1", "trials.parquet"),
    Shown("schema", "/docs/schema", "steps_to_result"),
    Shown("methods", "/docs/methods", "Critical batch size"),
    Shown("docs", "/docs", "Begin here"),
    Shown("document", "/docs/words", "metaparameter search"),
    Shown("reference", "/docs/reference", "/v1/scaling"),
    Shown("path", "/docs/reference/v1/scaling", "Lines to copy"),
)
