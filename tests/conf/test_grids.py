"""The grids of the activations' files: the paper's counts as printed, and what is left of them to train."""

import math
from functools import cache

import pytest
import yaml

from launch.command import resolve
from launch.runs.options import CONF
from launch.runs.values.grids import blocks, combinations
from launch.runs.values.published import read_published
from plasticity_lab import component
from plasticity_lab.records.identity import canonical_json

NAMES = sorted(path.stem for path in (CONF / "activation").glob("*.yaml"))
WITHOUT_SETTINGS = ("relu", "sigmoid", "tanh")
# Table B1, counted by hand; in `benchmarks` with Appendix B.4's additions, and grids of ours where there are none.
PRINTED = {
    "leaky_relu": 33, "swish": 33, "gelu": 33, "elu": 32, "celu": 32, "selu": 31, "rrelu": 20, "rational": 60,
    "crelu": 1, "swiglu": 1, "deep_fourier": 1,
}  # fmt: skip
NOMINAL = {
    "case_study": PRINTED | {"prelu": 3, "smooth_leaky": 175, "rand_smooth_leaky": 450},
    "benchmarks": PRINTED
    | {
        "aid": 6,
        "hadamard": 1,
        "prelu": 15,
        "bo_prelu": 18,
        "rselu": 7,
        "smooth_leaky": 81 * 7,
        "rand_smooth_leaky": 81 * (18 + 5),
    },
}
# c and p count through c/p: 25 pairs are 19 functions, 81 are 49; 5 of 18 pairs of bounds are the wrong way round;
# four published Rand-Smooth-Leakys lie in no printed grid.
TRAINED = {
    "case_study": {"smooth_leaky": 19 * 7, "rand_smooth_leaky": 19 * 13},
    "benchmarks": {"smooth_leaky": 49 * 7, "rand_smooth_leaky": 49 * 18 + 4},
}
RATES = {"case_study": [1e-3, 3e-4, 1e-4], "benchmarks": [1e-3, 1e-4]}


def grid_of(activation, name):
    grids = yaml.safe_load((CONF / "activation" / f"{activation}.yaml").read_text()).get("grids", {})
    return blocks(activation, name, grids[name]) if name in grids else None


@pytest.mark.parametrize("name", NOMINAL)
def test_the_nominal_counts_are_the_papers(name):
    grids = {activation: grid for activation in NAMES if (grid := grid_of(activation, name)) is not None}
    assert {activation: len(list(combinations(grid))) for activation, grid in grids.items()} == NOMINAL[name]


def test_the_papers_own_sum_for_its_benchmarks():
    ours = ("aid", "hadamard", "prelu", "bo_prelu", "rselu")
    paper = {activation: count for activation, count in NOMINAL["benchmarks"].items() if activation not in ours}
    assert sum(paper.values()) + 3 + len(WITHOUT_SETTINGS) == 283 + 567 + 1863


@cache
def whole_grid(name):
    """All runs of a grid, by activation."""
    found = {activation: [] for activation in NAMES}
    for run in resolve(["activation=glob(*)", "hyperparams=grid", f"hyperparams.grid={name}"]).runs:
        found[run.name("activation")].append(run)
    return found


@pytest.mark.walk(12)
@pytest.mark.parametrize("name", NOMINAL)
@pytest.mark.parametrize("activation", NAMES)
def test_what_is_trained_of_a_grid(activation, name):
    runs = whole_grid(name)[activation]
    settings = TRAINED[name].get(activation, NOMINAL[name].get(activation, 1))
    assert len(runs) == len(RATES[name]) * settings
    assert {run.science["optimizer"]["lr"] for run in runs} == set(RATES[name])


def test_every_file_says_of_all_its_values_whose_they_are():
    for activation in NAMES:
        for grid in yaml.safe_load((CONF / "activation" / f"{activation}.yaml").read_text()).get("grids", {}).values():
            assert set(grid) <= {"paper", "ours"}
    assert [each for each in NAMES if grid_of(each, "benchmarks") is None] == list(WITHOUT_SETTINGS)


@pytest.mark.sample(1)
def test_the_published_settings_are_all_tried():
    runs = resolve(["activation=glob(*)", "hyperparams=grid"]).runs
    targets = {run.science["activation"]["name"]: run.targets["activation"] for run in runs}

    def function(activation, settings, lr):
        cls = component.load(targets[activation])
        return activation, canonical_json([cls.canonical(component.typed(cls, "activation", activation, settings)), lr])

    tried = set()
    for run in runs:
        settings = dict(run.science["activation"])
        tried.add(function(settings.pop("name"), settings, run.science["optimizer"]["lr"]))
    published = read_published(CONF / "published" / "best_supervised.csv")
    best = {function(name, row["activation"], row["optimizer"]["lr"]) for (_, name), row in published.items()}
    assert len(best) > 60
    assert best <= tried


def test_r_selus_bounds_are_those_of_rrelu_around_selus_alpha():
    alpha = component.parameters(component.load("plasticity_lab.activations.selu.SELU"))["alpha"].default
    pairs = [tuple(each.values()) for each in combinations(grid_of("rrelu", "benchmarks"))]
    centred = {pair for pair in pairs if math.isclose(sum(pair) / 2, alpha, abs_tol=1e-3)}
    assert {tuple(each.values()) for each in combinations(grid_of("rselu", "benchmarks"))} == centred


def test_every_benchmark_names_a_grid_that_there_is():
    known = yaml.safe_load((CONF / "hyperparams" / "grid.yaml").read_text())["grids"]
    for path in (CONF / "benchmark").glob("*.yaml"):
        assert yaml.safe_load(path.read_text())["default_grid"] in known


@pytest.mark.sample(1)
def test_the_whole_grid_is_some_3_100_runs_and_the_command_says_what_is_saved():
    found = resolve(
        ["activation=glob(*,exclude=[aid,hadamard])", "benchmark=permuted_digits", "hyperparams=grid", "schedule=demo"]
    )
    assert len(found.runs) == 3098
    assert len({run.id for run in found.runs}) == 3098
    assert found.notes == [
        "hyperparams: rand_smooth_leaky's grid is tried without [0.3, 0.05], [0.4, 0.05], [0.5, 0.05], [0.6, 0.05], "
        "[0.7, 0.05]: lower is above upper.",
        "runs: 3,098, and 1,600 saved, with settings that are the same function as another run's "
        "(rand_smooth_leaky 1,152, smooth_leaky 448).",
    ]
