"""The search for the loss law L(N, D) = E + A/N^alpha + B/D^beta with the least Huber loss of log residuals.

Many starts, or many weightings of the points, are searched at once by Newton's method with damping. Parameters are
(log A', log B', log E, alpha, beta), of N and D in units of their geometric means.
Source: Hoffmann et al. 2022 (arXiv 2203.15556), appendix D.3; the sum, not the mean, is minimized to a tight tolerance,
as Besiroglu et al. 2024 (arXiv 2404.10102), appendix A, found to be needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from losslake_schema.reached import Flags, Floats, Integers

DELTA = 1e-3
# Exponents at which a term is a constant, or a step: there, the data don't say what it is.
LEAST_EXPONENT, MOST_EXPONENT = 1e-3, 8.0
_FURTHEST = 12.0
_MOST_STEPS = 250
_CLOSE = 1e-12
_DAMPING = (1e-9, 1e9)
_FIRST_DAMPING = 0.1
# Array elements per block of searches, so that a block fits in the processor's cache.
_BLOCK = 1 << 16
_EXPONENTS = np.geomspace(0.04, 2.5, 7)


@dataclass(frozen=True)
class Points:
    """The points of a fit: logs of N and D in units of their geometric means, and of the loss; arrays of shape (n,)."""

    log_n: Floats
    log_d: Floats
    log_loss: Floats

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """The least and the greatest parameters that are searched, each of shape (5,)."""
        least, most = float(self.log_loss.min()), float(self.log_loss.max())
        low, high = least - _FURTHEST, most + _FURTHEST
        return (
            np.array([low, low, low, LEAST_EXPONENT, LEAST_EXPONENT]),
            np.array([high, high, least, MOST_EXPONENT, MOST_EXPONENT]),
        )


@dataclass(frozen=True)
class Optima:
    """The ends of m searches: parameters (m, 5), the Huber loss (m,), and the number of steps in all."""

    parameters: Floats
    loss: Floats
    n_steps: int


def huber(residuals: Floats, delta: float = DELTA) -> Floats:
    """Return Huber's loss: r^2/2 up to delta, then delta (|r| - delta/2)."""
    size = np.abs(residuals)
    return np.where(size <= delta, 0.5 * size * size, delta * (size - 0.5 * delta))


def starts(points: Points) -> Floats:
    """Return parameters to start from, (s, 5): for each alpha and beta of a grid, E, A and B by least squares.

    The squares are of relative residuals; terms that would be negative are left out.
    """
    alpha, beta = (each.ravel() for each in np.meshgrid(_EXPONENTS, _EXPONENTS))
    scaled = np.exp(-points.log_loss)
    terms = np.stack(
        [
            np.exp(-alpha[:, None] * points.log_n) * scaled,
            np.exp(-beta[:, None] * points.log_d) * scaled,
            np.broadcast_to(scaled, (len(alpha), len(scaled))),
        ],
        axis=-1,
    )
    best = np.full((len(alpha), 3), np.nan)
    least = np.full(len(alpha), np.inf)
    for kept in ([0, 1, 2], [0, 1], [0, 2], [1, 2]):
        chosen = terms[..., kept]
        products = np.einsum("sni,snj->sij", chosen, chosen) + 1e-12 * np.eye(len(kept))
        found = np.linalg.solve(products, chosen.sum(1)[..., None])[..., 0]
        squares = np.square(1.0 - np.einsum("sni,si->sn", chosen, found)).sum(-1)
        is_better = (found > 0).all(-1) & (squares < least)
        least = np.where(is_better, squares, least)
        filled = np.full((len(alpha), 3), np.nan)
        filled[:, kept] = found
        best = np.where(is_better[:, None], filled, best)
    typical = float(np.exp(points.log_loss.mean()))
    logs = np.log(np.where(np.isfinite(best), best, 0.01 * typical))
    starting: Floats = np.column_stack([logs, alpha, beta])[np.isfinite(least)]
    return starting


def search(points: Points, start: Floats, weights: Floats | None = None, delta: float = DELTA) -> Optima:
    """Return the optima that searches from these parameters find.

    Args:
        points: n of them.
        start: parameters, (m, 5).
        weights: of the points by search, (m, n); None: each counts once.
        delta: of Huber's loss, in units of log loss.
    """
    size = max(1, _BLOCK // len(points.log_loss))
    ends, losses, n_steps = [], [], 0
    for first in range(0, len(start), size):
        block = slice(first, first + size)
        found = _search_block(points, start[block], None if weights is None else weights[block], delta)
        ends.append(found.parameters)
        losses.append(found.loss)
        n_steps += found.n_steps
    return Optima(np.concatenate(ends), np.concatenate(losses), n_steps)


def _search_block(points: Points, start: Floats, weights: Floats | None, delta: float) -> Optima:
    low, high = points.limits
    here = np.clip(start, low, high)
    every = np.ones((len(here), len(points.log_loss))) if weights is None else weights
    loss = _total(points, here, every, delta)
    damping = np.full(len(here), _FIRST_DAMPING)
    active: Integers = np.arange(len(here))
    n_steps = 0
    for _ in range(_MOST_STEPS):
        if not len(active):
            break
        n_steps += len(active)
        now, weight = here[active], every[active]
        step, is_flat = _step(points, now, weight, delta, damping[active], (low, high))
        tried = np.clip(now + step, low, high)
        total = _total(points, tried, weight, delta)
        before = loss[active]
        is_better = total < before
        here[active] = np.where(is_better[:, None], tried, now)
        loss[active] = np.where(is_better, total, before)
        damping[active] = np.clip(damping[active] * np.where(is_better, 0.2, 6.0), *_DAMPING)
        has_ended = is_flat | (is_better & (before - total <= _CLOSE * before) & (np.abs(step).max(-1) < 1e-6))
        has_ended |= ~is_better & (damping[active] >= _DAMPING[1])
        active = active[~has_ended]
    return Optima(here, loss, n_steps)


def _step(
    points: Points, now: Floats, weight: Floats, delta: float, damping: Floats, limits: tuple[Floats, Floats]
) -> tuple[Floats, Flags]:
    """Return the damped Newton steps, (m, 5), and True where the gradient is 0.

    The damping adds the curvature of a parabola above Huber's loss (iteratively reweighted least squares), so that
    steps go from Newton's to short ones that can't fail. Parameters at a limit that they would cross stay.
    """
    shares, jacobian, residuals = _derivatives(points, now)
    pull = weight * np.clip(residuals, -delta, delta)
    gradient = -(jacobian @ pull[..., None])[..., 0]
    above = weight * np.minimum(1.0, delta / np.maximum(np.abs(residuals), 1e-300))
    inside = weight * (np.abs(residuals) <= delta) + pull
    turned = np.swapaxes(jacobian, 1, 2)
    majorant = (jacobian * above[:, None]) @ turned
    curvature = (jacobian * inside[:, None]) @ turned - _bending(points, pull * shares)
    low, high = limits
    is_held = ((now <= low) & (gradient > 0)) | ((now >= high) & (gradient < 0))
    gradient = np.where(is_held, 0.0, gradient)
    scale = np.einsum("mii->mi", majorant)
    matrix = curvature + damping[:, None, None] * majorant
    ridge = 1e-12 * scale.max(-1, keepdims=True) + 1e-9 * damping[:, None] * scale
    matrix = np.where(is_held[:, :, None] | is_held[:, None, :], 0.0, matrix)
    matrix += np.eye(5) * np.where(is_held, 1.0, ridge)[:, None, :]
    values, vectors = np.linalg.eigh(matrix)
    # A direction of negative curvature is followed downhill, as far as its size says.
    values = np.maximum(np.abs(values), 1e-14 * np.abs(values).max(-1, keepdims=True) + 1e-300)
    slopes = np.einsum("mik,mi->mk", vectors, gradient)
    step = -np.einsum("mik,mk->mi", vectors, slopes / values)
    return np.clip(step, -3.0, 3.0), (gradient == 0).all(-1)


def _bending(points: Points, pulls: Floats) -> Floats:
    """Return the sum over points of pull times the second derivatives of their terms, (m, 5, 5).

    pulls: (3, m, n), by term.
    """
    sums = np.zeros((pulls.shape[1], 5, 5))
    for term, (at, exponent, log_x) in enumerate(((0, 3, points.log_n), (1, 4, points.log_d))):
        pull = pulls[term]
        sums[:, at, at] = pull.sum(-1)
        sums[:, at, exponent] = sums[:, exponent, at] = -(pull @ log_x)
        sums[:, exponent, exponent] = pull @ (log_x * log_x)
    sums[:, 2, 2] = pulls[2].sum(-1)
    return sums


def _terms(points: Points, parameters: Floats) -> Floats:
    """Return the logs of the terms A/N^alpha, B/D^beta and E, (3, m, n)."""
    log_a, log_b, log_e, alpha, beta = parameters.T[:, :, None]
    by_size, by_tokens = log_a - alpha * points.log_n, log_b - beta * points.log_d
    return np.stack([by_size, by_tokens, np.broadcast_to(log_e, by_size.shape)])


def log_losses(points: Points, parameters: Floats) -> Floats:
    """Return the log of the loss that laws give at the points, (m, n). parameters: (m, 5)."""
    terms = _terms(points, parameters)
    most = terms.max(0)
    total: Floats = most + np.log(np.exp(terms - most).sum(0))
    return total


def _total(points: Points, parameters: Floats, weights: Floats, delta: float) -> Floats:
    total: Floats = (weights * huber(points.log_loss - log_losses(points, parameters), delta)).sum(-1)
    return total


def _derivatives(points: Points, parameters: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the shares of the terms (3, m, n), the gradients of log L (m, 5, n), and the residuals (m, n)."""
    terms = _terms(points, parameters)
    most = terms.max(0)
    shares = np.exp(terms - most)
    total = shares.sum(0)
    shares /= total
    jacobian = np.empty((len(parameters), 5, len(points.log_loss)))
    jacobian[:, :3] = np.swapaxes(shares, 0, 1)
    jacobian[:, 3], jacobian[:, 4] = -shares[0] * points.log_n, -shares[1] * points.log_d
    return shares, jacobian, points.log_loss - most - np.log(total)
