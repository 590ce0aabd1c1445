"""For whom an update lays out gradients: who penalises, or reads them in an `after_step` of its own."""

from typing import ClassVar

import pytest

from plasticity_lab.interventions.continual_backprop import ContinualBackprop
from plasticity_lab.interventions.ewc import EWC
from plasticity_lab.interventions.fresh_each_task import FreshEachTask
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.interventions.l2 import L2
from plasticity_lab.interventions.l2_init import L2Init
from plasticity_lab.interventions.none import NoIntervention
from plasticity_lab.interventions.redo import ReDo
from plasticity_lab.interventions.selective_reinit import SelectiveReinit
from plasticity_lab.interventions.shrink_and_perturb import ShrinkAndPerturb
from plasticity_lab.interventions.snr import SelfNormalizedResets
from plasticity_lab.interventions.spectral import Spectral


class OnTasks(Intervention):
    def before_task(self, now):
        return now.state


class Steps(Intervention):
    def after_step(self, now):
        return now.state


class StepsWithoutThem(Intervention):
    needs_gradients: ClassVar[bool] = False

    def after_step(self, now):
        return now.state


class CallsItsBase(StepsWithoutThem):
    every = 3


class StepsAnew(StepsWithoutThem):
    """What was declared of the verb that it replaces says nothing of its own."""

    def after_step(self, now):
        return now.gradients


class Penalises(NoIntervention):
    needs_gradients: ClassVar[bool] = False  # untrue: the penalty's gradient would be left out

    def penalty(self, now):
        return now.parameters["hidden1.weight"].sum(dim=(1, 2))


@pytest.mark.parametrize(
    ("kind", "takes"),
    [
        *((each, False) for each in (OnTasks, StepsWithoutThem, CallsItsBase, NoIntervention, FreshEachTask)),
        *((each, False) for each in (ReDo, SelfNormalizedResets, ContinualBackprop, ShrinkAndPerturb)),
        *((each, True) for each in (Steps, StepsAnew, Penalises, L2, L2Init, EWC, Spectral, SelectiveReinit)),
    ],
)
def test_gradients_are_laid_out_for_who_takes_them(kind, takes):
    assert kind.takes_gradients() is takes
