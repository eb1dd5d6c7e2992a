"""How critical batch sizes grow, as others have published it: to hold a measured one against."""

from __future__ import annotations

import math


def critical_batch_size_zhang2024(parameters: float) -> float:
    """B* of a language model trained to its Chinchilla-optimal loss, in sequences.

    B* = 93.196814 (parameters / 10^6)^0.468278, with 20% overhead over batch size 256: the fit in log space that Zhang
    et al. 2024, "How does critical batch size scale in pre-training?", published with their figures.

    Args:
        parameters: of the model, above 0. They measured 85 million to 1.2 billion.
    """
    return 93.196814 * math.pow(_positive("parameters", parameters) / 1e6, 0.468278)


def critical_batch_size_kaplan2020(loss: float, scale: float = 2.1e8) -> float:
    """B_crit = E_min / S_min of a language model at a loss, in tokens.

    B_crit = scale / loss^(1 / 0.21): Kaplan et al. 2020, "Scaling laws for neural language models", equation 1.4. The
    batch size is thus a matter of the loss alone, not of the model's size.

    Args:
        loss: cross-entropy in nats per token, above 0.
        scale: in tokens; their table has 2.1e8, their text 2e8.
    """
    return scale / math.pow(_positive("loss", loss), 1 / 0.21)


def _positive(name: str, value: float) -> float:
    if not 0 < value < math.inf:
        raise ValueError(f"{name} is {value}: give a finite number above 0")
    return value
