"""Tables B2, E2, G4 and E9 to E11: the best settings of each activation on each benchmark."""

from analysis.conf import FOLDER
from analysis.tables.settings import settings

_BEST = FOLDER / "published" / "best_supervised.csv"
_OF_G4 = ("rselu", "bo_prelu")
_OF_E2 = (
    "relu", "leaky_relu", "sigmoid", "tanh", "rrelu", "prelu", "swish", "gelu", "celu", "elu", "selu", "crelu",
    "rational", "swiglu", "deep_fourier", "smooth_leaky", "rand_smooth_leaky",
)  # fmt: skip

TABLE_B2 = settings(
    name="tableB2",
    title="Table B2: best settings on Split-CIFAR-100",
    reported=(FOLDER / "published" / "best_split_cifar100.csv",),
    source="Table B2",
    only={"benchmark": ("split_cifar100_joint", "split_cifar100"), "intervention": ("none",)},
    experiment="tableB2",
)
TABLE_E2 = settings(
    name="tableE2",
    title="Table E2: best settings",
    reported=(_BEST,),
    source="Table E2",
    only={"activation": _OF_E2, "intervention": ("none",)},
    experiment="tableE2_{benchmark}",
)
TABLE_G4 = settings(
    name="tableG4",
    title="Table G4: best settings",
    reported=(_BEST,),
    source="Table G4",
    only={"activation": _OF_G4, "intervention": ("none",)},
    experiment="tableG4",
)
TABLES_E9_E11 = tuple(
    settings(
        name=f"tableE{number}",
        title=f"Table E{number}: best settings with {intervention}",
        reported=(FOLDER / "published" / "best_with_interventions.csv",),
        source=f"Table E{number}",
        only={"intervention": (intervention,)},
        experiment=f"tableE{number}",
    )
    for number, intervention in enumerate(("l2_init", "snr", "ewc"), start=9)
)

TABLES = (TABLE_B2, TABLE_E2, TABLE_G4, *TABLES_E9_E11)
