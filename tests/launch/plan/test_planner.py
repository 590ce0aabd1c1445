from dataclasses import replace

import pytest

from launch.plan.planner import Resources, plan
from launch.plan.speed import AVX2, AVX512, GPU, makespan
from plasticity_lab.agents.cost import FRAMES_SHARE, Cost, Share
from plasticity_lab.errors import PlanError
from plasticity_lab.networks.mlp import MLP
from tests.helpers.sweeps import all_kept, ended_packs, runs_of, trained

CPU = AVX2

COST = Cost(
    length=270,
    unit="steps",
    updates=270,
    flops=2_000_000,
    memory=[Share(2**18, "its network", "a smaller network.width"), Share(2**20 - 2**18, "images", "fewer images")],
    speed="dense",
    rows=6,
    parameters=100,
)
DENSE = replace(CPU.of("dense"), width={"eager": 16, "compiled": 8})
CALIBRATION = replace(CPU, speeds={"dense": DENSE})


def packs_of(runs, memory=2**30, workers=1, cost_of=lambda run: COST, mode_of=lambda run, cost: "eager", **more):
    return plan(runs, Resources("cpu", CALIBRATION, None, memory, workers), cost_of, mode_of, **more)


def widths(packs):
    return sorted(pack.width for pack in packs)


@pytest.mark.parametrize(("kind", "shipped"), [("cpu-avx2", AVX2), ("cpu-avx512", AVX512), ("a GPU", GPU)])
def test_shipped_figures_cut_a_sweep_that_is_wider_than_a_pack(kind, shipped):
    runs = runs_of("seed=range(0,20)")
    for name, speed in shipped.speeds.items():
        slower = replace(shipped, speeds={**shipped.speeds, name: speed.scaled({"eager": 2.0})})  # as one calibrates
        cost = replace(COST, speed=name)
        for figures, mode in [*((shipped, mode) for mode in speed.width), (slower, "eager")]:
            packs = plan(runs, Resources(kind, figures, None, 2**34, 3), lambda run: cost, lambda *_: mode)  # noqa: B023
            assert sum(pack.width for pack in packs) == len(runs)
            assert max(widths(packs)) - min(widths(packs)) <= 1
            assert all(isinstance(pack.width, int) for pack in packs)


@pytest.fixture(scope="module")
def many():
    return runs_of("activation=relu,leaky_relu", "seed=range(20)")


def test_every_run_is_in_one_pack_and_the_order_of_the_runs_does_not_matter(many):
    assert packs_of(many) == packs_of(many[::-1]) == packs_of(many[7:] + many[:7])
    assert sorted(run for pack in packs_of(many) for run in pack.runs) == sorted(run.id for run in many)


@pytest.mark.parametrize(
    "words",
    [
        ["seed=0,1,2"],
        ["stream_seed=0,1", "init_seed=0,1"],
        ["optimizer.lr=0.1,0.01,1"],
        ["activation=leaky_relu", "activation.negative_slope=0.1,0.2,1"],
        ["intervention=l2_init", "intervention.strength=0,0.1"],
        ["activation=smooth_leaky", "activation.c=5,7", "activation.alpha=0.1,0.5"],
        ["activation=prelu", "activation.alpha_init=0.1,0.2"],
    ],
)
def test_runs_that_differ_in_seeds_and_real_numbers_share_a_pack(words):
    runs = runs_of(*words)
    assert len(runs) > 1
    (pack,) = packs_of(runs)
    assert pack.width == len(runs)


@pytest.mark.parametrize(
    "words",
    [
        ["activation=relu,leaky_relu"],
        ["activation=prelu", "activation.scope=global,layer"],
        ["activation=rrelu", "activation.eval_slope=0.1,0.2"],
        ["activation=crelu", "activation.width=half,double"],
        ["network.width=100,200"],
        ["optimizer.reset=never,task"],
        ["intervention=none,l2_init"],
        ["benchmark=permuted_digits,random_label_digits"],
        ["benchmark.tasks=2,3"],
        ["benchmark.order=fixed,shuffle"],
        ["benchmark=catch", "agent=dqn", "agent.noisy=true", "agent.noise=0.1,0.5"],
    ],
)
def test_runs_that_differ_in_structure_do_not(words):
    assert widths(packs_of(runs_of(*words))) == [1, 1]


def test_the_same_settings_of_another_class_are_another_structure(many):
    other = replace(many[0], targets={**many[0].targets, "activation": "plasticity_lab.activations.tanh.Tanh"})
    assert other.structure() != many[0].structure()


def test_packs_are_as_wide_as_the_calibration_says_and_about_alike(many):
    assert widths(packs_of(many)) == [10, 10, 10, 10]
    assert widths(packs_of(many, mode_of=lambda run, cost: "compiled")) == [6, 6, 7, 7, 7, 7]


def test_memory_makes_packs_narrower_and_a_run_that_does_not_fit_alone_is_named(many):
    packs = packs_of(many, memory=3 * COST.device_bytes)
    assert widths(packs) == [2, 2] + [3] * 12
    assert all(pack.narrowed and pack.bytes <= 3 * COST.device_bytes for pack in packs)
    assert not any(pack.narrowed for pack in packs_of(many))
    assert not packs_of(many[:2], memory=3 * COST.device_bytes)[0].narrowed, "it was not to be wider"
    with pytest.raises(PlanError, match=r"needs 1 MiB alone, most of it for images, .*on cpu; choose fewer images or"):
        packs_of(many[:1], memory=COST.device_bytes - 1)


def test_a_run_that_ran_out_of_memory_gets_few_mates(many):
    burnt = [run.id for run in many if run.science["activation"]["name"] == "relu"][:4]
    packs = packs_of(many, widest=dict.fromkeys(burnt, 2))
    assert all((pack.width <= 2) == (not set(burnt).isdisjoint(pack.runs)) for pack in packs)
    assert widths(packs) == [2, 2, 10, 10, 16]


def test_there_is_a_pack_for_every_worker_and_widths_of_a_family_differ_by_one_at_most():
    for workers, wanted in ((2, [3, 3]), (4, [1, 1, 2, 2]), (6, [1] * 6), (64, [1] * 6)):
        assert widths(packs_of(runs_of("seed=range(6)"), workers=workers)) == wanted
    for workers in range(1, 12):
        found = widths(packs_of(runs_of("seed=range(9)"), workers=workers))
        assert max(found) - min(found) <= 1


def test_long_packs_come_first(many):
    long = runs_of("benchmark.tasks=50")
    packs = packs_of([*many, *long], cost_of=lambda run: replace(COST, updates=90 * run.science["benchmark"]["tasks"]))
    assert packs[0].runs == (long[0].id,)
    assert [pack.seconds for pack in packs] == sorted((pack.seconds for pack in packs), reverse=True)


def test_a_pack_that_has_ended_before_is_another_attempt():
    runs = runs_of("seed=0,1")
    (first,) = packs_of(runs)
    (second,) = packs_of(runs, taken={first.id}.__contains__)
    (third,) = packs_of(runs, taken={first.id, second.id}.__contains__)
    assert [pack.attempt for pack in (first, second, third)] == [0, 1, 2]
    assert len({first.id, second.id, third.id}) == 3
    assert first.runs == third.runs


def test_halves_are_the_same_whoever_asks_and_no_packs_of_their_own():
    (pack,) = packs_of(runs_of("seed=0,1,2"))
    halves = pack.halves()
    assert halves == pack.halves()
    assert [half.width for half in halves] == [2, 1]
    assert sum((half.runs for half in halves), ()) == pack.runs
    assert sum(half.seconds for half in halves) == pytest.approx(pack.seconds)
    (alone,) = packs_of([run for run in runs_of("seed=0,1,2") if run.id in halves[0].runs])
    assert alone.id != halves[0].id, "it may have been trained before, and this is another attempt"


def test_the_cost_is_asked_once_for_all_that_could_share_a_pack(many):
    asked = []
    packs_of(many, cost_of=lambda run: asked.append(run.id) or COST)
    assert len(asked) == 2


class Scaled(MLP):
    """The MLP, its logits multiplied by `scale`."""

    def __init__(self, scale: float) -> None:
        super().__init__(width=8)
        self.scale = scale

    def forward(self, design, parameters, x_KBD, activate, body):
        outputs = super().forward(design, parameters, x_KBD, activate, body)
        return {name: self.scale * value for name, value in outputs.items()}


def test_values_of_a_float_setting_that_a_class_keeps_in_itself_are_never_trained_in_one_pack(store, tmp_path):
    (tmp_path / "conf" / "network").mkdir(parents=True)
    (tmp_path / "conf" / "network" / "scaled.yaml").write_text(f"_target_: {__name__}.Scaled\nscale: 1.0\n")
    words = (f"hydra.searchpath=[file://{tmp_path / 'conf'}]", "network=scaled", "network.scale=0.5,2", "seed=0")
    trained(store, *words, "launch.workers=1")
    assert [len(pack["runs"]) for pack in ended_packs(store)] == [1, 1]
    one, other = (each.metrics for each in all_kept(store, runs_of(*words)).values())
    assert one != other


def test_a_worker_takes_the_next_pack_when_it_is_free():
    assert makespan([0, 0], [5, 3, 2]) == 5
    assert makespan([0] * 16, [11] + [8] * 16) == 16, "seventeen packs on sixteen workers: one worker takes two"
    assert makespan([10, 1], [4]) == 10
    assert makespan([3], []) == 3


def test_frames_on_a_gpu_are_part_of_its_pack_if_they_fit_and_never_narrow_one(many):
    kind, own = "NVIDIA H200 (sm_90, CUDA 13.0, cuDNN 91000)", CALIBRATION.of("dense").bytes(COST.device_bytes)
    cost = replace(COST, frames_bytes=10 * own)

    def bytes_of(kind, memory):
        packs = plan(many, Resources(kind, CALIBRATION, None, memory, 1), lambda run: cost, lambda run, cost: "eager")
        assert widths(packs) == [10, 10, 10, 10]
        return {pack.bytes for pack in packs}

    all_frames = 10 * cost.frames_bytes
    most = int(all_frames / FRAMES_SHARE) + 10 * own + 1
    assert bytes_of(kind, most) == {10 * own + all_frames}
    assert bytes_of(kind, most - 2) == {10 * own}
    assert bytes_of("cpu", most) == {10 * own}, "where they are counted with the memory"
