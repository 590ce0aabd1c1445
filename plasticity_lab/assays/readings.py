"""The results of an assay: columns, and their values from the curves of the copies.

Legend: K runs, R repetitions, P points of a curve.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from plasticity_lab.assays.assay import Assay
from plasticity_lab.assays.t_quantile import t_factor
from plasticity_lab.records.measures import Better, Column, Measure

Array = NDArray[np.float64]
CONFIDENCE = 0.95
UNDEFINED: Mapping[int, str] = {
    1: "the aged network's loss is not finite",
    2: "a fresh network's loss is not finite",
    3: "the fresh networks' loss is 0",
    4: "the assay cannot be tried at the end of this task",
}
"""The values of the column "undefined": the reason why ratios and differences are missing; 0 if they are defined."""

_LOSS: Sequence[tuple[str, str, Better]] = (
    ("aged_loss", "loss, aged", "less"),
    ("fresh_loss", "loss, fresh", "less"),
    ("loss_gap", "loss, aged − fresh", "less"),
    ("loss_gap_low", "loss, aged − fresh, lower end of its interval", ""),
    ("loss_gap_high", "loss, aged − fresh, upper end of its interval", ""),
    ("loss_ratio", "loss, aged / fresh", "less"),
    ("aged_first_loss", "loss before training, aged", ""),
    ("fresh_first_loss", "loss before training, fresh", ""),
    ("aged_steps", "steps to the fresh networks' median loss, aged", "less"),
    ("fresh_steps", "steps to the fresh networks' median loss, fresh", "less"),
    ("steps_ratio", "steps to the fresh networks' median loss, aged / fresh", "less"),
    ("undefined", "reason why results are undefined (0: none)", ""),
)
_SHARES: Sequence[tuple[str, str, Better]] = (
    ("aged_{}accuracy", "{}accuracy, aged", "more"),
    ("fresh_{}accuracy", "{}accuracy, fresh", "more"),
    ("{}accuracy_gap", "{}accuracy, aged − fresh", "more"),
    ("{}accuracy_gap_low", "{}accuracy, aged − fresh, lower end of its interval", ""),
    ("{}accuracy_gap_high", "{}accuracy, aged − fresh, upper end of its interval", ""),
)


def columns_of(assay: Assay, name: str) -> list[Column]:
    """The columns that an assay adds to the task rows of a run.  name: the assay's."""
    title = name.replace("_", " ").capitalize()
    found = measures_of(assay.of_classes, assay.tests, f"{title}: ")
    return [_column(replace(each, name=prefixed(name, each.name)), f"{name}.{each.name}") for each in found]


def own_columns() -> list[Column]:
    """The columns of an assay's own runs, the same for all assays."""
    return [_column(each, each.name) for each in measures_of(of_classes=True, tests=True)]


def _column(measure: Measure, of: str) -> Column:
    return Column(measure, of, {"task": "value"})


def measures_of(of_classes: bool, tests: bool, first: str = "") -> list[Measure]:
    """The numbers that an assay with labels, or with a test, measures.  first: in front of each title."""
    found = [Measure(name, f"{first}{words}", better=better) for name, words, better in _LOSS]
    for kind, word in [*([("", "")] if of_classes else []), *([("test_", "test ")] if tests else [])]:
        for name, words, better in _SHARES:
            found.append(Measure(name.format(kind), f"{first}{words.format(word)}", "%", 100.0, 2, better))
    return found


def prefixed(assay: str, column: str) -> str:
    """The name of an assay's column among the columns of a run."""
    return f"{assay}_{column}" if assay else column


def values_of(assay: Assay, curves: Mapping[str, Sequence[Array]], runs: int) -> dict[str, Array]:
    """Column → (K,).  curves: name → P arrays (C,) (see `Copies.curves`)."""
    shape = -1, runs, assay.repetitions, 2
    loss_PKRB = np.array(curves["loss"]).reshape(shape)
    found = _of_losses(assay, loss_PKRB)
    for kind in ("accuracy", "test_accuracy"):
        if kind in curves:
            share_KRB = np.array(curves[kind][-1]).reshape(shape)[0]
            gap = share_KRB[..., 0] - share_KRB[..., 1]
            low, high = interval(gap)
            found |= {
                f"aged_{kind}": share_KRB[..., 0].mean(axis=1), f"fresh_{kind}": share_KRB[..., 1].mean(axis=1),
                f"{kind}_gap": gap.mean(axis=1), f"{kind}_gap_low": low, f"{kind}_gap_high": high,
            }  # fmt: skip
    return found


def without_values(assay: Assay, runs: int, reason: int) -> dict[str, Array]:
    """Empty columns, with the reason."""
    found = {each.name: np.full(runs, np.nan) for each in measures_of(assay.of_classes, assay.tests)}
    return found | {"undefined": np.full(runs, float(reason))}


def _of_losses(assay: Assay, loss_PKRB: Array) -> dict[str, Array]:
    last = loss_PKRB[-1]
    aged, fresh = (last[..., at].mean(axis=1) for at in (0, 1))
    finite_aged, finite_fresh = np.isfinite(aged), np.isfinite(fresh)
    gap = np.where(finite_aged & finite_fresh, aged - fresh, np.nan)
    differences = last[..., 0] - last[..., 1]
    low, high = interval(np.where(np.isfinite(differences), differences, np.nan))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(finite_aged & finite_fresh & (fresh != 0), aged / fresh, np.nan)
    undefined = np.select([~finite_fresh, ~finite_aged, fresh == 0], [2.0, 1.0, 3.0], 0.0)
    steps = steps_to(assay.measured_after(), loss_PKRB)
    with np.errstate(divide="ignore", invalid="ignore"):
        of_steps = steps[..., 0] / steps[..., 1]
    return {
        "aged_loss": aged, "fresh_loss": fresh, "loss_gap": gap, "loss_gap_low": low, "loss_gap_high": high,
        "loss_ratio": ratio, "aged_first_loss": loss_PKRB[0, ..., 0].mean(axis=1),
        "fresh_first_loss": loss_PKRB[0, ..., 1].mean(axis=1), "aged_steps": steps[..., 0],
        "fresh_steps": steps[..., 1], "steps_ratio": of_steps, "undefined": undefined,
    }  # fmt: skip


def steps_to(after: Sequence[int], loss_PKRB: Array) -> Array:
    """The steps until the median loss over repetitions is at most the threshold, (K, 2); NaN if it never is.

    The threshold is the median of the fresh networks' last losses. The median curve is linear between its points.
    after (P,): the steps of the points.
    """
    curves_PKB = np.median(loss_PKRB, axis=2)
    thresholds_K = np.median(loss_PKRB[-1, ..., 1], axis=1)
    found = np.full(curves_PKB.shape[1:], np.nan)
    for run, threshold in enumerate(thresholds_K):
        for branch in range(2):
            curve = curves_PKB[:, run, branch]
            reached = np.flatnonzero(curve <= threshold)
            if not len(reached):
                continue
            at = int(reached[0])
            if at == 0:
                found[run, branch] = after[0]
                continue
            before, here = curve[at - 1], curve[at]
            share = (before - threshold) / (before - here) if np.isfinite(before) else 1.0
            found[run, branch] = after[at - 1] + share * (after[at] - after[at - 1])
    return found


def interval(values_KR: Array) -> tuple[Array, Array]:
    """The ends of the t interval of the mean over repetitions, (K,) each; NaN with fewer than two repetitions."""
    count = values_KR.shape[1]
    if count < 2:
        return np.full(len(values_KR), np.nan), np.full(len(values_KR), np.nan)
    mean, deviation = values_KR.mean(axis=1), values_KR.std(axis=1, ddof=1)
    half = t_factor(CONFIDENCE, count - 1) * deviation / np.sqrt(count)
    return mean - half, mean + half
