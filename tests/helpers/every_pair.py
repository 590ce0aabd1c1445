"""Every intervention and every diagnostic beside every head, noisy network and agent: the pairs, and a run of each.

A situation is an agent with a network and a head on a task of a few steps. In each of them every intervention of
conf/ is tried with all periods as short as they go, and all diagnostics together.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode

from launch.runs.options import CONF, Options
from launch.runs.resolve import Preset, resolved
from plasticity_lab.agents.agent import Agent
from plasticity_lab.assembly import agent_of, assembled, cost_of, looked_at, resources
from plasticity_lab.component import load, load_as, parameters
from plasticity_lab.errors import ConfigError
from plasticity_lab.interventions.intervention import Intervention
from plasticity_lab.networks.heads.head import Head
from plasticity_lab.records.journal import Journal
from plasticity_lab.run import Run
from plasticity_lab.trainer import train
from tests.helpers.packs import CPU, Keeper, choice, choices
from tests.helpers.sweeps import SMOKE, said_last

EXPERTS = "head.experts=3"
SOON = {"every": 2, "first": 1, "apart": 1, "maturity": 1, "examples": 8}
"""Settings by which an intervention comes due within a few updates, where it has them."""
VARIANTS = {
    "ewc of batches": ("ewc", {"batch": 4}),
    "all but one expert pruned": ("prune_experts", {"count": 2}),
    "every dormant unit": ("redo", {"every": 1, "strength": 1.0}),
    "shrunk between tasks": ("shrink_and_perturb", {"every": None}),
    "units that fell silent": ("snr", {"strength": 0.5, "epsilon": 0.7, "min_age": 1, "min_count": 1}),
    "with the router and the target": ("reset_experts", {"chosen": "all", "router": True, "target": "own"}),
}
"""Interventions of conf/ that go another way with other settings."""
OBSERVED = "all diagnostics"
INTERVENTIONS = (*choices("intervention"), *VARIANTS)

SHORT = ("benchmark.tasks=2", "benchmark.test_episodes=1", "seed=0")
IMAGE = ("network=small_nature", "network.convolutions=1", "network.hidden=8")
CATCH = ("benchmark=catch", "benchmark.balls=1", *SHORT)
REMEMBERED = (
    "benchmark.environment_steps=12",
    "agent.batch=4",
    "agent.capacity=11",
    "agent.min_history=8",
    "agent.epoch_steps=6",
    "agent.update_period=2",
)
VALUES = (*REMEMBERED, "agent.target_period=4", "agent.environments=1", "agent.n_step=2")
ROLLOUT = ("benchmark.environment_steps=16", "agent.environments=1", "agent.rollout=8", "agent.minibatches=2")
PPO = (*ROLLOUT, "agent.epochs=1")
DIGITS = ("benchmark=permuted_digits", "benchmark.images=12", "benchmark.batch_size=4", "benchmark.eval_images=8")
SPLIT = ("benchmark=split_digits", "benchmark.images_per_class=6", "benchmark.batch_size=4", "benchmark.eval_images=8")
ARRIVING = ("benchmark.epochs=2", "benchmark.tasks=2", "seed=0")
REPLAYED = ("agent=experience_replay", "agent.memory=8", "agent.per_task=4", "agent.replayed=2")

IMAGE_AGENTS = {
    **{agent: (f"agent={agent}", *CATCH, *VALUES) for agent in ("dqn", "rainbow_lite", "rainbow", "der")},
    **{agent: (f"agent={agent}", *CATCH, *PPO) for agent in ("ppo", "ppo_cleanrl")},
    "supervised": ("agent=supervised", *DIGITS, *ARRIVING),
    "experience_replay": (*REPLAYED, *SPLIT, *ARRIVING),
}
MLP = ("network=mlp", "network.width=8")
SAC = ("agent=sac", "benchmark=mujoco", *SHORT, *REMEMBERED)
PICTURES = (*SAC, "benchmark.bodies=[pictured]", "network=pixel_actor_critic", "network.channels=4")
OTHERS = {
    **{f"{agent}, mlp": (*words, *MLP) for agent, words in IMAGE_AGENTS.items()},
    "no_replay, mlp": ("agent=no_replay", *SPLIT, *ARRIVING, *MLP),
    **{
        f"supervised, {name}": (*IMAGE_AGENTS["supervised"], f"network={name}", *small)
        for name, small in {
            "cnn": ("network.padding=same", "network.channels=2", "network.width=4"),
            "cnn_case_study": ("network.channels=2", "network.width=4"),
            "small_impala": ("network.hidden=8",),
        }.items()
    },
    "rainbow, layer norm": (*IMAGE_AGENTS["rainbow"], *IMAGE, "network.norm=layer"),
    "ppo, two bodies": ("agent=ppo", "benchmark=classic_cycle", "benchmark.bodies=[sliders,chosen]", *SHORT, *PPO,
                        "network.width=8"),
    "sac, mlp": (*SAC, "benchmark.bodies=[sliders]", *MLP),
    **{
        f"sac, pixel_actor_critic, {head}": (*PICTURES, "network.projection=5", "network.hidden=8",
                                             "agent.policy_period=1", "agent.actor_lr=null", f"head={head}")
        for head in ("flatten", "tokenised")
    },
}  # fmt: skip


def situations() -> dict[str, tuple[str, ...]]:
    """The words of each, by its name."""
    found = {}
    for agent, words in IMAGE_AGENTS.items():
        for head in choices("head"):
            experts = (EXPERTS,) if head_of(head).has_experts else ()
            found[f"{agent}, {head}"] = (*words, *IMAGE, f"head={head}", *experts)
    return found | OTHERS


def pairs() -> list[tuple[str, str]]:
    """Every situation with every intervention, and with the diagnostics."""
    return [(situation, beside) for situation in situations() for beside in (*INTERVENTIONS, OBSERVED)]


def head_of(name: str) -> type[Head]:
    """Its class."""
    return load_as(choice("head", name)[0], Head)


def beside_words(beside: str) -> list[str]:
    """The words of an intervention whose periods are short, or of all diagnostics."""
    if beside == OBSERVED:
        names = [name for name in choices("diagnostics") if name != "none"]
        return [f"diagnostics=[{','.join(names)}]", "diagnostics.every=1", "diagnostics.curvature.iterations=2"]
    name, own = VARIANTS.get(beside, (beside, {}))
    known = parameters(load(choice("intervention", name)[0]))
    soon = {key: value for key, value in SOON.items() if key in known}
    words = {key: "null" if value is None else str(value).lower() for key, value in {**soon, **own}.items()}
    return [f"intervention={name}", *(f"intervention.{key}={value}" for key, value in words.items())]


def why_not(situation: str, beside: str) -> list[str]:
    """Words of the sentences by which a pair is refused before anything is trained; [] if it must work."""
    words = dict(word.split("=", 1) for word in situations()[situation])
    agent, settings = choice("agent", words["agent"])
    name, _ = VARIANTS.get(beside, (beside, {}))
    reasons = ["noisy"] if settings.get("noisy") and words.get("head") == "tokenised" else []
    if beside != OBSERVED:
        intervention = load_as(choice("intervention", name)[0], Intervention)
        reasons += ["requires"] if intervention.requires - load_as(agent, Agent).provides else []
        experts = intervention.unit_kind == "expert" and not head_of(words.get("head", "flatten")).has_experts
        reasons += ["experts"] if experts else []
    return reasons


@cache
def _options() -> Options:
    with initialize_config_dir(str(CONF), job_name="plasticity_lab", version_base="1.3"):
        loader = GlobalHydra.instance().hydra.config_loader
        return Options(loader, loader.load_configuration("config", [], run_mode=RunMode.MULTIRUN))


def runs_named(words: Sequence[str]) -> list[Run]:
    """The runs of a command's words, as a command finds them.  Raises ConfigError."""
    return resolved(_options(), Preset(), said_last(*SMOKE, *words)).runs


def trained(words: Sequence[str]) -> tuple[Mapping[str, torch.Tensor], dict[str, list[Any]]]:
    """The weights and the columns of a command's one run, which is planned, put together and trained as workers do it.

    Raises Refused with the sentence if it is refused before its first step.
    """
    try:
        runs = runs_named(words)
        resource = resources(Path())(runs[0])
        cost_of(runs[0], resource)
    except ConfigError as error:
        raise Refused(str(error)) from error
    stream, learner = assembled(runs, resource, CPU, False)
    learner, columns = looked_at(runs, resource, learner)
    journal = Journal(len(runs), agent_of(runs[0]).measures.with_columns(columns))
    train(stream, learner, journal, Keeper())
    table: Any = journal.table(0)
    return learner.weights(), {name: table[name].to_pylist() for name in table.column_names}


class Refused(Exception):
    """A command's runs are refused in a sentence, and nothing was trained."""


def walked(chosen: Sequence[tuple[str, str]]) -> Iterator[tuple[tuple[str, str], str]]:
    """Those of the pairs with which something is wrong, and what."""
    for situation, beside in chosen:
        reasons = why_not(situation, beside)
        try:
            weights, _ = trained([*situations()[situation], *beside_words(beside)])
        except Refused as refused:
            if not any(reason in str(refused) for reason in reasons):
                yield (situation, beside), f"refused: {refused}"
        except Exception as error:
            yield (situation, beside), f"{type(error).__name__}: {error}"
        else:
            if reasons:
                yield (situation, beside), "not refused"
            if odd := [name for name, value in weights.items() if not value.isfinite().all()]:
                yield (situation, beside), f"not finite: {odd}"
