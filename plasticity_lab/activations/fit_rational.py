"""Fits the initial coefficients of the rational activations, and writes rational_starts.json next to this file.

    python -m plasticity_lab.activations.fit_rational

Least squares on [−3, 3] by Levenberg–Marquardt from several starts. Versions A and B are fitted. D has B's
coefficients, and so has C, with b₀ = 0.9, which makes its Q equal to B's if that polynomial is positive.

Some cells of degrees 5/4 are the published ones (the rational_activations package, Delfosse et al. 2020, MIT licence),
from which the paper's runs started; refitting them gives the same functions to their stated errors. If any number
changes, raise STAMP here and `Rational.science_version`.
"""

import functools
import itertools
import json
from collections.abc import Callable

import numpy as np

from plasticity_lab.activations.rational import APPROXIMATED, DEGREES, STARTS
from plasticity_lab.randomness.host import host_stream

STAMP = 1
RANGE = (-3.0, 3.0)
GRID = np.linspace(*RANGE, 1001)
SMALLEST = 1e-9
"""In version A: |b x| has no derivative at b = 0, so a coefficient that began there would never be learned."""

TARGETS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "swish": lambda x: x / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
}

PUBLISHED: dict[tuple[str, str], tuple[list[float], list[float]]] = {
    ("A", "leaky_relu"): (
        [0.0297927787, 0.6183735265, 2.3233090625, 3.0519362373, 1.4854203264, 0.2510244961],
        [-1.1419548357, 4.3931599750, 0.8714712310, 0.3471966234],
    ),
    ("A", "tanh"): (
        [-1.08e-08, 1.0003008044, -2.59e-08, 0.0963212992, 3.5e-09, 0.0004255709],
        [-0.0013027181, 0.4283490174, 1.5e-09, 0.0107966481],
    ),
    ("B", "relu"): (
        [0.0338971292, 0.4999985440, 1.6701363611, 1.9901021632, 0.9413089614, 0.1509133374],
        [-2.10402e-05, 3.9802478512, -3.16634e-05, 0.3018338230],
    ),
    ("B", "leaky_relu"): (
        [0.0335581573, 0.5050059187, 1.6534697311, 2.0100501553, 0.9319195587, 0.1524264640],
        [4.81283e-05, 3.9802479055, 1.58376e-05, 0.3018338284],
    ),
    ("B", "swish"): (
        [3.26e-07, 0.5000000076, 0.2500169541, 0.0532751960, 0.0058045806, 0.0002752960],
        [3.91729e-05, 0.1065308384, 3.7992e-06, 0.0005503052],
    ),
    ("B", "sigmoid"): (
        [0.5000000003, 0.2500039727, 0.0554447423, 0.0068884492, 0.0004849139, 1.56460e-05],
        [7.9564e-06, 0.1108855095, 7.765e-07, 0.0009697684],
    ),
    ("C", "relu"): (
        [0.7865035432, 11.6015931456, 38.7535199512, 46.1788415810, 21.8427019765, 3.5019243675],
        [23.1031409296, 0.0004299501, 92.3569879658, 0.0003086764, 7.0038174165],
    ),
}


def parts(version: str, x: np.ndarray, theta: np.ndarray, n: int, m: int) -> tuple[np.ndarray, ...]:
    """P and Q (N,), and their derivatives by the coefficients, (N, n + 1) and (N, m)."""
    powers = x[:, None] ** np.arange(max(n, m) + 1)
    above, below = theta[: n + 1], theta[n + 1 :]
    if version == "A":
        terms = np.abs(powers[:, 1 : m + 1])
        q, slope = 1 + terms @ np.abs(below), terms * np.where(below >= 0, 1, -1)
    else:
        inner = powers[:, 1 : m + 1] @ below
        q, slope = 1 + np.abs(inner), powers[:, 1 : m + 1] * np.where(inner >= 0, 1, -1)[:, None]
    return powers[:, : n + 1] @ above, q, powers[:, : n + 1], slope


def descend(version: str, theta: np.ndarray, n: int, m: int, target: np.ndarray) -> tuple[float, np.ndarray]:
    """The final sum of squared errors of Levenberg–Marquardt, and the final coefficients."""
    p, q, by_above, by_below = parts(version, GRID, theta, n, m)
    error, damping = p / q - target, 1e-3
    cost = error @ error
    for _ in range(500):
        jacobian = np.concatenate([by_above / q[:, None], -(p / q**2)[:, None] * by_below], axis=1)
        normal, gradient = jacobian.T @ jacobian, jacobian.T @ error
        while damping < 1e12:
            tried = theta - np.linalg.solve(normal + damping * np.diag(np.diag(normal) + 1e-12), gradient)
            p, q, by_above, by_below = parts(version, GRID, tried, n, m)
            error = p / q - target
            if error @ error < cost:
                break
            damping *= 4
        else:
            return cost, theta
        gained, cost = 1 - error @ error / cost, error @ error
        theta, damping = tried, max(damping / 3, 1e-12)
        if gained < 1e-12:
            break
    return cost, theta


@functools.cache
def fitted(version: str, n: int, m: int, function: str) -> tuple[np.ndarray, np.ndarray]:
    """The best of six descents; among equally good ones, the one with the smallest coefficients."""
    draws = host_stream(0, "rational starts", version, n, m, function)
    first = np.ones(n + 1 + m)
    beginnings = [first, np.r_[np.ones(n + 1), np.full(m, 0.1)], *draws.normal(size=(4, n + 1 + m))]
    ends = [descend(version, beginning, n, m, TARGETS[function](GRID)) for beginning in beginnings]
    best = min(cost for cost, _ in ends)
    theta = min((theta for cost, theta in ends if cost < 1.001 * best + 1e-8), key=lambda theta: np.abs(theta).sum())
    above, below = theta[: n + 1], theta[n + 1 :]
    if version == "A":
        return above, np.abs(below)
    return above, below * (1 if below[1] >= 0 else -1)


def cell(version: str, n: int, m: int, function: str) -> dict[str, object]:
    """One entry of the file."""
    published = PUBLISHED.get((version, function)) or (PUBLISHED.get(("B", function)) if version == "D" else None)
    if published and (n, m) == (5, 4):
        above, below = map(np.asarray, published)
    else:
        above, below = fitted("A" if version == "A" else "B", n, m, function)
        if version == "C":
            below = np.r_[0.9, below]
    if version == "A":
        below = np.where(np.abs(below) < SMALLEST, SMALLEST, below)
    theta = np.concatenate([above, below[1:] if version == "C" else below])
    p, q, _, _ = parts(version, GRID, theta, n, m)
    if version == "C":
        q = 0.1 + np.abs(np.polynomial.polynomial.polyval(GRID, below))
    return {
        "version": version,
        "numerator_degree": n,
        "denominator_degree": m,
        "approximates": function,
        "source": "published" if published and (n, m) == (5, 4) else "fitted",
        "largest_error": float(f"{np.abs(p / q - TARGETS[function](GRID)).max():.3g}"),
        "numerator": [_rounded(value) for value in above],
        "denominator": [_rounded(value) for value in below],
    }


def _rounded(value: float) -> float:
    """Rounded to ten decimals, more than float32 keeps."""
    return round(float(value), 10) + 0.0


def main() -> None:
    """Fits every cell and writes the file, one cell a line."""
    cells = [
        cell(version, n, m, function) for version, (n, m), function in itertools.product("ABCD", DEGREES, APPROXIMATED)
    ]
    lines = ",\n".join(json.dumps(one) for one in cells)
    STARTS.write_text(f'{{"stamp": {STAMP}, "range": {json.dumps(RANGE)}, "cells": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
