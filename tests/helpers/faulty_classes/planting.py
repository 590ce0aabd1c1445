"""Classes as somebody writes them outside the package: those in order, and those with one mistake each.

Their choices are planted on a search path as a user's own would be.
"""

from pathlib import Path

from tests.helpers.faulty_classes import (
    activations,
    agents,
    benchmarks,
    diagnostics,
    heads,
    interventions,
    networks,
    optimizers,
    perturbations,
    targets,
)

OF_GROUPS = {
    "activation": activations,
    "intervention": interventions,
    "network": networks,
    "head": heads,
    "optimizer": optimizers,
    "benchmark": benchmarks,
    "agent": agents,
    "diagnostics": diagnostics,
    "perturbation": perturbations,
    "target": targets,
}
IN_ORDER = {group: own.IN_ORDER for group, own in OF_GROUPS.items()}
FAULTY = {group: own.FAULTY for group, own in OF_GROUPS.items()}
"""By group: the class, and a word that the sentence about it must have."""
BENCHMARK = "source: digits\nimages: 1437\ntasks: 5\nepochs: 1\nsteps: null\nbatch_size: 16\n"


def planted(folder: Path, *classes: type) -> str:
    """Makes a choice of each class's name in a folder; the word that finds them."""
    for group, several in IN_ORDER.items():
        for cls in (*several, *FAULTY[group]):
            if not classes or cls in classes:
                file = folder / "planted" / group / f"{cls.__name__.lower()}.yaml"
                file.parent.mkdir(parents=True, exist_ok=True)
                auto = f"{BENCHMARK}default_network: mlp\ndefault_agent: supervised\n"
                file.write_text(f"_target_: {cls.__module__}.{cls.__name__}\n{auto if group == 'benchmark' else ''}")
    return f"hydra.searchpath=[file://{folder / 'planted'}]"
