"""Diagnostics of somebody's own, each with one mistake, and one in order."""

import torch

from plasticity_lab.diagnostics.diagnostic import Diagnostic, of_epochs


class Largest(Diagnostic):
    """In order: the largest pre-activation of each run."""

    def columns(self, units):
        return [of_epochs("largest", "Largest pre-activation")]

    def look(self, view):
        return {"largest": view.forward().before["hidden1"].flatten(1).amax(dim=1)}


class OfAllRuns(Largest):
    def look(self, view):
        return {"largest": view.forward().before["hidden1"].amax().expand(len(view.seeds))}


class Writes(Largest):
    def look(self, view):
        view.parameters["hidden1.weight"].mul_(0.5)
        return super().look(view)


class InTheObject(Largest):
    def look(self, view):
        self.so_far = max(getattr(self, "so_far", 0), view.task + 1) + (view.epoch or 0)
        return {"largest": torch.full((len(view.seeds),), float(self.so_far))}


class Others(Largest):
    def look(self, view):
        return {"smallest": torch.zeros(len(view.seeds))}


IN_ORDER = (Largest,)
FAULTY = {
    OfAllRuns: "pack of 2",
    Writes: "hidden1.weight",
    InTheObject: "resumed",
    Others: "smallest",
}
