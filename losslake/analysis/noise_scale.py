"""The simple noise scale of a gradient, from the norms of gradients of two batch sizes at the same steps.

It is of the gradient, at one place of the training, and no critical batch size, which is of the steps to a target: in
table 1 of McCandlish et al. 2018 it is 1.5 to 8 times as large for classifiers and a language model, and a twentieth
for autoencoders.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from losslake_schema.reached import Floats

SMOOTHING = 0.99


def simple_noise_scale(
    small_norms: npt.ArrayLike,
    large_norms: npt.ArrayLike,
    small: float,
    large: float,
    smoothing: float = SMOOTHING,
) -> Floats:
    """Return B_simple = tr(Sigma)/|G|^2 by step, in the unit of the batch sizes; NaN where it has no value above 0.

    E |G_B|^2 = |G|^2 + tr(Sigma)/B, so |G|^2 = (B |G_B|^2 - b |G_b|^2)/(B - b) and tr(Sigma) = (|G_b|^2 - |G_B|^2)/
    (1/b - 1/B) without bias. Each is averaged exponentially over steps before they are divided, since their ratio at
    one step would be biased and may have either sign.

    Args:
        small_norms, large_norms: shape (m,), Euclidean norms of the gradients of batches of b and B examples, before
            clipping: that of one process, and that of the mean over processes. Steps with NaN are skipped.
        small, large: b < B, above 0.
        smoothing: the weight of the average so far, 0 to below 1; 0 for no average.

    Raises ValueError for arrays of other shapes, and for values out of range.
    Source: McCandlish et al. 2018 (arXiv 1812.06162), appendix A.1.
    """
    if np.shape(small_norms) != np.shape(large_norms) or np.ndim(small_norms) != 1:
        raise ValueError("give as many small_norms as large_norms, one of each by step")
    if not 0 < small < large < np.inf:
        raise ValueError(f"small {small} and large {large}: give batch sizes above 0, the smaller one first")
    if not 0 <= smoothing < 1:
        raise ValueError(f"smoothing {smoothing}: give a number from 0 to below 1")
    of_small, of_large = np.square(np.array([small_norms, large_norms], np.float64))
    signal = (large * of_large - small * of_small) / (large - small)
    noise = (of_small - of_large) / (1.0 / small - 1.0 / large)
    averages, scales = np.zeros(2), np.full(len(of_small), np.nan)
    for step, both in enumerate(np.stack([noise, signal], axis=1)):
        if not np.isfinite(both).all():
            continue
        averages = smoothing * averages + (1.0 - smoothing) * both
        # The correction of both averages for their start at 0 cancels in the ratio.
        if (averages > 0).all():
            scales[step] = averages[0] / averages[1]
    return scales
