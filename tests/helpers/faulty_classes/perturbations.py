"""Perturbations of somebody's own, each with one mistake, and one in order."""

from plasticity_lab.perturbations.perturbation import EPOCHS, Perturbation


class Louder(Perturbation):
    requires = frozenset({EPOCHS})

    def count(self, epochs):
        return epochs // 2

    def factor(self, epoch, before):
        return 2.0 if epoch % 2 == 0 else None


class LouderEachTime(Louder):
    asked = 0

    def factor(self, epoch, before):
        self.asked += 1
        return 1 + self.asked / 10


IN_ORDER = (Louder,)
FAULTY = {
    LouderEachTime: "resumed",
}
