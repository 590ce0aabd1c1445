"""Runs of a few steps in which each choice of conf/ meets each choice of the other groups.

A row names a choice of each group; its agent, network and head decide the benchmark. Settings are small where a class
has them, and periods as short as they go.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode

from launch.runs import words as words_read
from launch.runs.desk import Misfit
from launch.runs.groups import COMPONENTS
from launch.runs.options import CONF, Options
from launch.runs.resolve import Preset, resolved
from plasticity_lab.assembly import agent_of, assembled, cost_of, looked_at, resources
from plasticity_lab.records.journal import Journal
from plasticity_lab.run import Run
from plasticity_lab.trainer import train
from tests.helpers.covering import Choice, Row, array
from tests.helpers.packs import CPU, Keeper, choice, choices
from tests.helpers.sweeps import SMOKE, said_last

SMALL = {
    "width": 8, "hidden": 8, "channels": 4, "convolutions": 1, "projection": 5, "batch": 4,
    "capacity": 11, "min_history": 8, "epoch_steps": 6, "update_period": 2, "target_period": 4, "n_step": 2,
    "rollout": 8, "minibatches": 2, "epochs": 1, "memory": 8, "per_task": 4, "replayed": 2, "cycle": 2, "every": 2,
    "first": 1, "maturity": 1, "examples": 8, "layers": 1, "iterations": 2, "depth": 2, "heads": 2,
}  # fmt: skip
"""Setting → the largest value of a run here, in each class that has it."""
OTHERWISE = {"padding": "same", "experts": 3, "apart": 1, "repetitions": 1, "points": 2}
OF_ASSAYS = {"steps": 4}
"""The same for assays alone: other classes have settings of that name."""
"""Settings with a value of their own here."""
VARIANTS = {
    "ewc of batches": ("ewc", {"batch": 4}),
    "all but one expert pruned": ("prune_experts", {"count": 2}),
    "every dormant unit": ("redo", {"every": 1, "strength": 1.0}),
    "shrunk between tasks": ("shrink_and_perturb", {"every": None}),
    "units that fell silent": ("snr", {"strength": 0.5, "epsilon": 0.7, "min_age": 1, "min_count": 1}),
    "with the router and the target": ("reset_experts", {"chosen": "all", "router": True, "target": "own"}),
}
"""Interventions of conf/ that go another way with other settings."""
CALM = {name: {"strength": 1e-6, "initial": 0.01} for name in ("c_chain", "c_chain_discrete", "c_chain_dqn")}
"""Settings with which a few steps stay finite: after one round, `c_chain` divides by almost no churn."""
OBSERVED = "all diagnostics"
UNOBSERVED = "none"

IMAGES = ("benchmark.batch_size=4", "benchmark.eval_images=8", "benchmark.epochs=2", "benchmark.tasks=2")
BODIES = ("benchmark.environment_steps=16", "benchmark.tasks=2", "benchmark.test_episodes=1")
ONE_OPTIMIZER = ("agent.policy_period=1", "agent.actor_lr=null")
BENCHMARKS = (
    ("benchmark=permuted_digits", "benchmark.images=12", *IMAGES),
    ("benchmark=split_digits", "benchmark.images_per_class=6", *IMAGES),
    ("benchmark=slowly_changing_regression", "benchmark.images=12", *IMAGES),
    ("benchmark=catch", "benchmark.balls=1", *BODIES),
    ("benchmark=mujoco", "benchmark.bodies=[sliders]", *BODIES),
    ("benchmark=mujoco", "benchmark.bodies=[pictured]", *BODIES, *ONE_OPTIMIZER),
)
"""A row has the first one that its agent learns, by its network and its head."""
DESIGN = ("agent", "network", "head")


def every_choice() -> dict[str, list[str]]:
    """Group → its choices, as the files of conf/ say it. Activations have tests of their own."""
    groups = ["agent", *(group for group in COMPONENTS if group not in ("agent", "activation", "benchmark"))]
    found = {group: choices(group) for group in groups}
    return found | {
        "intervention": [*found["intervention"], *VARIANTS],
        "diagnostics": [UNOBSERVED, OBSERVED],
    }


@cache
def rows() -> list[tuple[Row, str]]:
    """Rows with every pair of choices, each with the sentence that refuses it; "" for one to be trained."""
    return list(array(every_choice(), refusal))


def refusal(row: Row) -> tuple[str, frozenset[Choice]] | None:
    """The sentence that refuses a row before anything is trained, and the choices that it is about; None without."""
    design = {group: row[group] for group in DESIGN}
    benchmark, why = _benchmark(**design)
    if benchmark is None:
        return why, frozenset(design.items())
    try:
        _run(row)
    except Misfit as error:
        return str(error), frozenset((group, row[group]) for group in error.groups if group in row) | frozenset(
            design.items() if "benchmark" in error.groups else ()
        )
    return None


def trained(row: Row) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The weights and the columns of a row's run, which is planned, put together and trained as workers do it."""
    run = _run(row)
    resource = resources(Path())(run)
    cost_of(run, resource)
    stream, learner = assembled([run], resource, CPU, False)
    learner, columns = looked_at([run], resource, learner)
    journal = Journal(1, agent_of(run).measures.with_columns(columns))
    keeper: Any = Keeper()
    train(stream, learner, journal, keeper)
    table: Any = journal.table(0)
    return learner.weights(), {name: table[name].to_pylist() for name in table.column_names}


@cache
def _benchmark(agent: str, network: str, head: str) -> tuple[tuple[str, ...] | None, str]:
    """The words of the benchmark; None if each is refused, and the sentence of the last one that the agent learns."""
    design, why = {"agent": agent, "network": network, "head": head}, ""
    known = {f"agent.{key}" for key in choice("agent", agent)[1]}
    for of_benchmark in BENCHMARKS:
        words = tuple(word for word in of_benchmark if word not in ONE_OPTIMIZER or word.partition("=")[0] in known)
        try:
            runs_named([*_words(design), *words])
        except Misfit as error:
            why = str(error) if not why or error.groups != ("agent", "benchmark") else why
        else:
            return words, ""
    return None, why


def _run(row: Row) -> Run:
    """Raises Misfit."""
    benchmark, _ = _benchmark(*(row[group] for group in DESIGN))
    assert benchmark is not None
    (run,) = runs_named([*_words(row), *benchmark])
    return run


def _words(row: Row) -> list[str]:
    return ["seed=0", *(word for group, name in row.items() for word in _words_of(group, name))]


def _words_of(group: str, name: str) -> list[str]:
    """A choice, and its settings that are small here."""
    if name == OBSERVED:
        names = [each for each in choices("diagnostics") if each != UNOBSERVED]
        return [f"diagnostics=[{','.join(names)}]", "diagnostics.every=1", "diagnostics.curvature.iterations=2"]
    name, own = VARIANTS.get(name, (name, {})) if group == "intervention" else (name, {})
    _, usual = choice(group, name)
    numbers = {key: value for key, value in usual.items() if value is None or type(value) in (int, float)}
    small = {key: SMALL[key] for key in numbers.keys() & SMALL if numbers[key] is None or numbers[key] > SMALL[key]}
    other = {key: value for key, value in (OTHERWISE | (OF_ASSAYS if group == "assay" else {})).items() if key in usual}
    settings = {**small, **other, **CALM.get(name, {}), **own}
    words = {key: "null" if value is None else str(value).lower() for key, value in settings.items()}
    return [f"{group}={name}", *(f"{group}.{key}={value}" for key, value in words.items())]


@cache
def _options() -> Options:
    with initialize_config_dir(str(CONF), job_name="plasticity_lab", version_base="1.3"):
        hydra: Any = GlobalHydra.instance().hydra
        loader = hydra.config_loader
        return Options(loader, loader.load_configuration("config", [], run_mode=RunMode.MULTIRUN))


def runs_named(words: Sequence[str]) -> list[Run]:
    """The runs of a command's words, as a command finds them.  Raises ConfigError."""
    with patch.object(words_read, "_parsed", _parsed):
        return resolved(_options(), Preset(), said_last(*SMOKE, *words)).runs


_parsed = cache(words_read._parsed)
"""Hydra's parser, which takes most of the time of an answer, reads each word once."""
