"""Which metric a logged column is: by its name or a pattern in the mapping, or because it is called as metrics are.

Where nothing says it, its name suggests a line for the mapping. Nothing is ever ingested by such a guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from losslake_ingest.mapping.template import Template
from losslake_ingest.rules import Refusal, Rule
from losslake_ingest.run_log import Scalar
from losslake_schema.names import why_bad_name
from losslake_schema.registry import metrics

_SPLITS = frozenset(metric.split for metric in metrics().values())
_SPLIT_WORDS = {
    "train": ("train", "training", "tr", "trn"),
    "val": ("val", "valid", "validation", "eval", "dev", "evaluation"),
    "test": ("test", "tst"),
}
_EVERY_SPLIT_WORD = frozenset(word for words in _SPLIT_WORDS.values() for word in words)
_QUANTITIES = {
    "cross_entropy_error": ("cross_entropy", "crossentropy", "xent", "ce", "nll", "cross_entropy_error"),
    "classification_error": ("classification_error", "err", "error", "top1_error"),
    "accuracy": ("accuracy", "acc", "acc1", "top1", "top_1"),
    "perplexity": ("perplexity", "ppl"),
    "word_error_rate": ("wer", "word_error_rate"),
    "mean_average_precision": ("map", "mean_average_precision"),
    "average_precision": ("average_precision", "ap"),
    "bleu": ("bleu",),
    "ssim": ("ssim",),
    "loss": ("loss", "total_loss", "objective"),
}


def metric_of(column: str, lines: Mapping[str, Template | None], fields: Mapping[str, Scalar]) -> str | None:
    """Return the metric `split/quantity` of a column, None when it is to be left out.

    lines: [metrics] of the mapping; a `*` in a column stands for any text, and in its metric for the same text. Raises
    UnknownField when the metric takes a field that nothing says, KeyError when nothing says what the column is.
    """
    fits = [(column, "")] if column in lines else ((p, star) for p in lines if (star := _star(p, column)) is not None)
    pattern, star = next(iter(fits), (None, ""))
    if pattern is None:
        split, _, quantity = column.partition("/")
        if split in _SPLITS and why_bad_name(quantity) is None:
            return column
        raise KeyError(column)
    template = lines[pattern]
    name = str(template.fill(fields)).replace("*", star) if template is not None else ""
    return checked_metric(name) if name else None


def checked_metric(name: str) -> str:
    """Return the name, if a metric can have it; raises Refusal."""
    split, slash, quantity = name.partition("/")
    why = why_bad_name(split) or why_bad_name(quantity) if slash else "has no slash"
    if why:
        message = f"the mapping names the metric {name[:80]!r}, which {why}: give split/quantity, as val/accuracy"
        raise Refusal(Rule.BAD_FACT, message)
    return name


def _star(pattern: str, column: str) -> str | None:
    """Return the text that a pattern's `*` stands for in a column; None where the pattern doesn't fit."""
    head, star, tail = pattern.partition("*")
    fits = star and len(column) >= len(head) + len(tail) and column.startswith(head) and column.endswith(tail)
    return column[len(head) : len(column) - len(tail)] if fits else None


def guessed_metric(column: str) -> str | None:
    """Return the metric that a column is called like, `eval_loss` as `val/loss`; None when its name doesn't tell."""
    words = re.findall("[a-z0-9]+", column.lower())
    splits = [split for split, names in _SPLIT_WORDS.items() if not set(names).isdisjoint(words)]
    rest = "_".join(word for word in words if word not in _EVERY_SPLIT_WORD)
    quantity = next((quantity for quantity, names in _QUANTITIES.items() if rest in names), None)
    return f"{splits[0]}/{quantity}" if quantity and len(splits) == 1 else None


def metric_line(column: str) -> str:
    """Return the line of a mapping that says what a column is, for its author to correct."""
    metric = guessed_metric(column) or "val/loss"
    return f'{toml_key(column)} = "{metric}"   # under [metrics]: the metric that it is, or "" to leave it out'


def toml_key(text: str) -> str:
    """Return a key as TOML has it, quoted where it must be."""
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else toml_string(text)


def toml_string(text: str) -> str:
    """Return a text as a TOML basic string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
