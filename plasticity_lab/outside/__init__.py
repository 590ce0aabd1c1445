"""For training loops outside of the laboratory: its parts for any torch module.  Needs torch and numpy only.

from plasticity_lab.outside import measure

print(measure(model, loader)["dormant_units"])
"""

import gc
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers; otherwise a name is imported when it is first used
    from plasticity_lab.outside.activations import activation
    from plasticity_lab.outside.assays import assay
    from plasticity_lab.outside.measurement import measure
    from plasticity_lab.outside.optimizers import optimizer
    from plasticity_lab.outside.plastic.plastic import Plastic

__all__ = ["Plastic", "activation", "assay", "measure", "optimizer"]
PLACES = {
    "activation": "activations",
    "assay": "assays",
    "measure": "measurement",
    "optimizer": "optimizers",
    "Plastic": "plastic.plastic",
}
"""Public name → its module in this package, which is imported when the name is first used."""


def __getattr__(name: str) -> Any:
    """The object of that public name."""
    if name not in PLACES:
        raise AttributeError(f"plasticity_lab.outside has no {name}; it has {', '.join(sorted(PLACES))}.")
    collects = gc.isenabled()
    gc.disable()  # a search for garbage among torch's objects takes as long as the import
    try:
        found = getattr(importlib.import_module(f"plasticity_lab.outside.{PLACES[name]}"), name)
    finally:
        if collects:
            gc.enable()
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """The public names."""
    return sorted(PLACES)
