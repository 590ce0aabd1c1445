"""The second paper's figures on the embedded games: every preset composes, with all its arms, and is priced."""

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from launch.command import resolve
from launch.runs.files import CONF, benchmarks_in
from plasticity_lab.assembly import cost_of, resources
from plasticity_lab.records.record import read_record
from plasticity_lab.records.store import Store
from tests.helpers import preset_sources
from tests.helpers.sweeps import runs_of, trained

ARMS = {
    1: 6, 4: 9, 5: 20, 6: 4, 7: 9, 8: 7, 9: 6, 10: 6, 11: 10, 12: 7, 13: 7, 14: 4, 15: 4, 16: 9, 17: 3, 18: 5, 19: 3,
    20: 9, 23: 10, 24: 10,
}  # fmt: skip
"""Figure → its arms, times agents and encoders where it has several."""
GAMES, SEEDS = 4, 5
OF_DER = (10, 11, 16, 20)
"""Figures with arms of DER."""


@pytest.mark.walk(1)
@pytest.mark.parametrize("number", ARMS)
def test_a_figure_has_all_arms_on_every_game_and_seed(number):
    runs = resolve([f"experiment=softmoe_figure{number}_games"]).runs
    assert len(runs) == ARMS[number] * GAMES * SEEDS
    by_game = Counter(run.science["benchmark"]["game"] for run in runs)
    assert set(by_game.values()) == {ARMS[number] * SEEDS}
    steps = {(run.science["agent"]["name"], run.science["benchmark"]["environment_steps"]) for run in runs}
    assert steps <= {("dqn", 200_000), ("rainbow_lite", 200_000), ("rainbow", 200_000), ("der", 50_000)}
    (short, *_) = resolve([f"experiment=softmoe_figure{number}_games", "schedule=smoke", "seed=0"]).runs
    assert short.science["benchmark"]["environment_steps"] == 4096


def test_every_figure_of_the_paper_with_runs_has_its_preset_and_its_place_in_the_table():
    names = [path.stem for path in Path(CONF, "experiment").glob("softmoe_*.yaml")]
    with_games = {name for name in names if benchmarks_in(name, [CONF]) == {"games"}}
    assert with_games == {f"softmoe_figure{number}" for number in ARMS}
    there = {path.stem.removeprefix("softmoe_figure") for path in Path(CONF, "experiment").glob("softmoe_figure*.yaml")}
    assert {1, *range(4, 25)} == {int(number) for number in there if number.isdigit()}
    table = (
        (Path(CONF).parent / "docs/pages/how_to/atari.md").read_text(encoding="utf-8").partition("paper's figures")[2]
    )
    assert {f"| {number} |" for number in (9, 10, 11, 16, 19, 20, 21, 22)} <= set(re.findall(r"\| \d+ \|", table))


@pytest.mark.sample(2)
def test_figure_22_is_sac_flattened_and_summed_over_places_and_over_channels():
    runs = resolve(["experiment=softmoe_figure22", "seed=0"]).runs
    arms = Counter(
        (" ".join(map(str, list(run.science["head"].values())[:2])), run.science["network"]["tokens"]) for run in runs
    )
    assert arms == {("flatten", "per_conv"): 20, ("tokenised sum", "per_conv"): 20, ("tokenised sum", "per_feat"): 20}
    assert {(run.science["agent"]["name"], run.science["benchmark"]["name"]) for run in runs} == {("sac", "cale")}


def ders_arms_are_dopamines(number, network):
    runs = resolve([f"experiment=softmoe_figure{number}", "benchmark.game=pong", "seed=0", f"network={network}"]).runs
    assert {run.science["network"]["name"] for run in runs} == {network}
    of_der, of_others = [], []
    for run in runs:
        benchmark, agent = run.science["benchmark"], run.science["agent"]
        found = agent["life_loss_is_terminal"], benchmark["noops"], benchmark["sticky"]
        (of_der if agent["name"] == "der" else of_others).append(found)
    assert set(of_der) == {(True, 30, 0.0)}
    assert set(of_others) <= {(False, 0, 0.25)}


@pytest.mark.slow
@pytest.mark.parametrize("network", ["impala", "nature"])
@pytest.mark.parametrize("number", OF_DER)
def test_ders_arms_on_atari_are_those_of_dopamines_labs_and_a_word_gives_them_its_encoder(number, network):
    """Lost lives and no-ops: labs/moes/configs/DER.gin, and the runner that labs/moes/atari_100k_train.py starts."""
    ders_arms_are_dopamines(number, network)


def test_ders_arms_of_a_drawn_figure_are_those_of_dopamines_labs():
    seed = int(np.random.SeedSequence().generate_state(1)[0])
    print(f"drawn by seed {seed}")
    draw = np.random.default_rng(seed)
    ders_arms_are_dopamines(draw.choice(OF_DER), draw.choice(["impala", "nature"]))


@pytest.mark.parametrize(("number", "scaled"), [(4, 2048), (16, 2048), (18, 4096)])
def test_the_baseline_with_one_layer_stands_scaled_beside_the_experts(number, scaled):
    """As wide as all experts together (Obando Ceron et al. 2024), of which the figures' text speaks: 4 × or 8 × 512."""
    flat = [arm for arm in preset_sources.arms(f"softmoe_figure{number}") if arm["head"] == {"flatten"}]
    assert [arm.get("network.hidden") for arm in flat if "network.layers" not in arm] == [None, {scaled}]
    on_games = resolve([f"experiment=softmoe_figure{number}_games", "seed=0", "benchmark.game=bricks"]).runs
    flat = [run.science["network"] for run in on_games if run.name("head") == "flatten"]
    assert {network["hidden"] for network in flat if network["layers"] == 1} == {128, scaled / 4}


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("study", "figure", "count"), [("softmoe_resets", 11, 50), ("softmoe_pruning", 19, 15)], ids=["resets", "pruning"]
)
def test_the_study_of_experts_is_the_figures_twins_on_one_game(study, figure, count):
    runs = resolve([f"experiment={study}"]).runs
    twins = resolve([f"experiment=softmoe_figure{figure}_games", "benchmark.game=invaders"]).runs
    assert {run.id for run in runs} == {run.id for run in twins}
    assert len(runs) == count


def test_scaled_arms_stand_beside_each_other_at_the_sizes_that_the_paper_names():
    """One scaled expert has the hidden width of four together; so has the scaled baseline."""
    find = resources(Path())
    arms = {}
    for run in resolve(["experiment=softmoe_figure1_games", "seed=0", "benchmark.game=bricks"]).runs:
        head = run.science.get("head", {"name": "flatten"})
        words = head["name"], head.get("experts"), head.get("scale"), run.science["network"]["hidden"]
        arms[words] = cost_of(run, find(run)).parameters
    assert set(arms) == {
        ("flatten", None, None, 128), ("flatten", None, None, 512), ("softmoe", 2, 1.0, 128), ("softmoe", 4, 1.0, 128),
        ("softmoe", 8, 1.0, 128), ("softmoe", 1, 4.0, 128),
    }  # fmt: skip
    # Slots 4 · 7 and 25, and one second layer's bias each: 16 · 28 − 16 · 25 + 4 · 16 − 16.
    assert arms["softmoe", 4, 1.0, 128] - arms["softmoe", 1, 4.0, 128] == 48 + 48


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """One for all figures: what two of them have alike is trained once."""
    return Store(tmp_path_factory.mktemp("figures") / "store")


@pytest.mark.slow
@pytest.mark.parametrize("number", ARMS)
def test_every_arm_learns_on_a_game_at_smoke(store, number):
    """Half an hour for all of them on one core."""
    words = (f"experiment=softmoe_figure{number}_games", "benchmark.game=crossing", "seed=0")
    trained(store, *words)
    runs = runs_of(*words)
    records = [read_record(store, run.id) for run in runs]
    assert len(records) == ARMS[number]
    assert {record["status"] for record in records} == {"done"}
    assert all(record["summary"]["episodes"] > 0 for record in records)
