"""Agents of somebody's own, each with one mistake, and one in order."""

import numpy as np

from plasticity_lab.agents.supervised.agent import Supervised
from plasticity_lab.agents.supervised.learner import SupervisedLearner
from plasticity_lab.records.rows import Rows


class _Learner(SupervisedLearner):
    def advance(self, chunk):
        rows = super().advance(chunk)
        return Rows({name: self.changed(values) for name, values in rows.updates.items()})

    def changed(self, values):
        return values


class _Mixing(_Learner):
    def changed(self, values):
        return values - values.mean()


class _Squeezed(_Learner):
    def changed(self, values):
        return values.mean(axis=1)


class _Ends(_Learner):
    def ends(self, task):
        return None


class _Unsaved(_Learner):
    def changed(self, values):
        self.parts = getattr(self, "parts", 0) + 1
        return values + self.parts


class _Measuring(_Learner):
    def changed(self, values):
        finite = np.isfinite(values).all(axis=0)
        return np.where(finite, values / (1 + np.abs(values)), values)


class Taught(Supervised):
    """In order; others have another learner."""

    taught_by = _Learner

    def learner(self, parts, resource, device, compiled):
        stream, _ = super().learner(parts, resource, device, compiled)
        return stream, self.taught_by(parts, self.model(parts, resource), resource, device, compiled)


class MixingRows(Taught):
    taught_by = _Mixing


class OneRow(Taught):
    taught_by = _Squeezed


class Ends(Taught):
    taught_by = _Ends


class Unsaved(Taught):
    taught_by = _Unsaved


class Measuring(Taught):
    """In order: each run's losses by themselves."""

    taught_by = _Measuring


class IfMixed(Taught):
    """The first run's setting decides for all."""

    def __init__(self, mixed: float = 0.5):
        self.mixed = mixed

    def learner(self, parts, resource, device, compiled):
        stream, learner = super().learner(parts, resource, device, compiled)
        if self.mixed:
            factors = np.array([1 + each.mixed for each in parts.agents])
            learner.changed = lambda values: values / factors
        return stream, learner


IN_ORDER = (Taught, Measuring)
FAULTY = {
    MixingRows: "pack of 2",
    OneRow: "shape",
    Ends: "'end'",
    Unsaved: "resumed",
    IfMixed: "agent.mixed=0",
}
