"""Agents of somebody's own, each with one mistake, and one in order."""

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


class OldProvision(Taught):
    tells = frozenset()


class Lerner(Taught):
    def lerner(self, parts, resource, device, compiled):
        return None


IN_ORDER = (Taught,)
FAULTY = {
    MixingRows: "pack of 2",
    OneRow: "shape",
    Ends: "'end'",
    Unsaved: "resumed",
    Lerner: "learner",
    OldProvision: "provides",
}
