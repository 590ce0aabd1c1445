"""The columns with which narrow layers are filled up: they are zero, and whoever changes parameters leaves them so."""

from launch.own_classes.named import Fault, OwnClass, place
from launch.own_classes.tiny import Tiny
from plasticity_lab.agents.agent import Learner
from plasticity_lab.agents.parts import parts_of
from plasticity_lab.assembly import agent_of
from plasticity_lab.networks.units import OF_UNITS
from plasticity_lab.stacking.normed import linear_of

TITLE = "columns that fill up a layer stay zero"


def filled_up(own: OwnClass, tiny: Tiny, learner: Learner) -> Fault | None:
    """What is wrong with a class that leaves other numbers there than zeros; None where they are zero."""
    model = agent_of(tiny.runs[0]).model(parts_of(tiny.runs), tiny.resource)
    weights = learner.weights()
    for layer in map(linear_of, model.design.layers):
        for part in OF_UNITS:
            values = weights.get(f"{layer.name}.{part}")
            if values is not None and values[..., layer.outputs :].any():
                what = (
                    f"{layer.name}.{part} is stored with {values.shape[-1]} columns for {layer.outputs} units, and "
                    "those that fill it up are no longer zero; change the columns up to layer.outputs alone"
                )
                return Fault(what, place(own.cls))
    return None
