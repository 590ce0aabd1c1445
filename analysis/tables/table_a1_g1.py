"""Tables A1 and G1: properties of the activations."""

from analysis.tables.properties import PropertyTable

TABLE_A1 = PropertyTable(
    name="tableA1",
    title="Table A1: properties of activations",
    activations=(
        "relu", "leaky_relu", "prelu", "rrelu", "sigmoid", "tanh", "swish", "gelu", "elu", "celu", "selu", "crelu",
        "rational", "swiglu", "deep_fourier", "smooth_leaky", "rand_smooth_leaky",
    ),
)  # fmt: skip
TABLE_G1 = PropertyTable(
    name="tableG1",
    title="Table G1: properties of activations",
    activations=("rselu", "bo_prelu"),
)
