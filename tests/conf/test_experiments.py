"""Every preset of conf/experiment: composed and planned, and run where embedded data suffice."""

import shlex

import pytest

from analysis import reported
from analysis.tables.declared.means import BENCHMARKS
from launch import command
from launch.command import resolve, run_command
from launch.launchers import report
from launch.runs.options import CONF
from plasticity_lab.records.record import read_record
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import SMOKE, trained

NAMES = sorted(path.stem for path in (CONF / "experiment").glob("*.yaml"))
EMBEDDED = ("digits51", "permuted_digits", "random_label_digits")
GRIDS = [name for name in NAMES if name.startswith("tableE2_")]
AT_HOME = ["demo", *(name for name in GRIDS if name.endswith(EMBEDDED))]
"""Presets whose data come with scikit-learn."""


def runs_of(name, *words):
    return resolve([f"experiment={name}", *words]).runs


def pairs(runs):
    return {(run.science["benchmark"]["name"], run.science["activation"]["name"]) for run in runs}


def published(table):
    """The cells of a published table whose benchmarks exist."""
    cells = reported.published([table])
    return {key[:2] for key in cells if (CONF / "benchmark" / f"{key.benchmark}.yaml").exists()}


@pytest.mark.walk(4)
@pytest.mark.parametrize("name", [*NAMES, "softmoe_figure20_games"])
def test_a_preset_is_planned_without_data_and_a_typed_word_wins(name, tmp_path, capsys, monkeypatch):
    found, really = [], command.resolved
    monkeypatch.setattr(command, "resolved", lambda *words: found.append(really(*words)) or found[-1])
    typed = ["seed=7", *(["activation=relu"] if name in GRIDS[1:] else [])]  # of whole grids, one suffices
    words = [f"store={tmp_path / 'store'}", f"data={tmp_path}", "dry_run=true", "launch.workers=1"]
    assert run_command([f"experiment={name}", *typed, *words]) == 0
    runs = found[0].runs
    assert f"\n{len(runs):,} run{'s' if len(runs) > 1 else ''} to train in" in capsys.readouterr().out
    assert {run.science["seed"] for run in runs} == {7}
    assert {run.asked_as[0]["experiment"] for run in runs} == {name}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_presets_first_comment_is_the_whole_command(name):
    _, words, *_ = (CONF / "experiment" / f"{name}.yaml").read_text().splitlines()
    assert shlex.split(words.removeprefix("# ")) == ["python", "-m", "plasticity_lab.main", f"experiment={name}"]


@pytest.mark.walk(1)
@pytest.mark.parametrize("name", AT_HOME)
def test_a_preset_on_embedded_data_runs(name, tmp_path):
    words = (f"experiment={name}", "activation=relu,prelu", "optimizer.lr=1e-3", "seed=0")
    plan = trained(Store(tmp_path), *words)
    assert len(plan.runs) == (2 if name == "demo" else 1 + 15)
    assert {read_record(Store(tmp_path), run)["status"] for run in plan.runs} == {"done"}


@pytest.mark.slow
@pytest.mark.parametrize("name", AT_HOME)
def test_a_preset_on_embedded_data_runs_with_all_its_activations(name, tmp_path):
    smooth = "[bo_prelu,rselu,*smooth_leaky]"  # whose grids are searched in tests/launch/runs/values/test_search.py
    words = [] if name == "demo" else [f"activation=glob(*,exclude={smooth})", "optimizer.lr=1e-3"]
    plan = trained(Store(tmp_path), f"experiment={name}", "seed=0", *words)
    assert {read_record(Store(tmp_path), run)["status"] for run in plan.runs} <= {"done", "diverged"}


@pytest.mark.sample(3)
def test_table_1s_preset_runs_each_of_its_cells_five_times_at_its_best():
    runs = runs_of("table1")
    assert len(runs) == 5 * len(pairs(runs)) == 5 * len(reported.lines("table1_split_cifar100.csv"))
    assert {activation for _, activation in pairs(runs)} == {
        line["activation"] for line in reported.lines("table1_split_cifar100.csv")
    }
    assert {run.asked_as[0]["hyperparams"] for run in runs} == {"best"}


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "table"), [("table2", "table2_taoa.csv"), ("tableE3", "tableE3_generalization_gap.csv")]
)
def test_a_tables_preset_runs_each_of_its_cells_five_times_at_its_best(name, table):
    runs = runs_of(name)
    assert pairs(runs) == published(table)
    assert len(runs) == 5 * len(pairs(runs))
    assert {run.asked_as[0]["hyperparams"] for run in runs} == {"best"}


@pytest.mark.sample(3)
def test_the_reduced_table_1_takes_the_settings_of_table_b2():
    """Rates and shapes as Table B2 prints them, class-incremental first."""
    runs = runs_of("table1_reduced")
    assert len(runs) == 2 * 2 * 3
    found = {(run.science["benchmark"]["name"], run.science["activation"]["name"]): run.science for run in runs}
    rates = {place: science["optimizer"]["lr"] for place, science in found.items()}
    assert [rates["split_cifar100", name] for name in ("relu", "leaky_relu", "rrelu")] == [1e-4, 3e-4, 3e-4]
    assert [rates["split_cifar100_joint", name] for name in ("relu", "leaky_relu", "rrelu")] == [1e-3] * 3
    assert found["split_cifar100", "leaky_relu"]["activation"]["negative_slope"] == 0.7
    assert found["split_cifar100", "rrelu"]["activation"]["upper"] == 2.673
    assert {science["benchmark"]["epochs"] for science in found.values()} == {3}
    assert {science["agent"]["name"] for science in found.values()} == {"experience_replay", "no_replay"}


@pytest.mark.sample(3)
def test_the_tables_of_appendix_g_are_made_by_their_presets():
    two, three = pairs(runs_of("tableG2")), pairs(runs_of("tableG3"))
    assert published("tableG2_G3_taoa.csv") < two | three
    assert pairs(runs_of("tableG4", "seed=0")) == published("tableG2_G3_taoa.csv")
    assert {activation for _, activation in two & three} == {"rand_smooth_leaky"}


@pytest.mark.walk(1)
@pytest.mark.parametrize("name", GRIDS)
def test_a_search_is_of_the_activations_of_table_2_on_one_benchmark(name):
    runs = runs_of(name, "seed=0", "hyperparams=default")
    (benchmark,) = {benchmark for benchmark, _ in pairs(runs)}
    assert benchmark == name.removeprefix("tableE2_")
    assert {activation for _, activation in pairs(runs)} == {name for _, name in published("table2_taoa.csv")}


@pytest.mark.slow
@pytest.mark.sample(3)
def test_a_search_tries_the_whole_grid():
    assert len(runs_of(GRIDS[0], "seed=0")) == 3098 - 2 * (18 + 7), "all but Bo-PReLU and R-SELU"


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "intervention", "printed"),
    [("tableE9", "l2_init", set()), ("tableE10", "snr", {(3e-3, 3e-3)}), ("tableE11", "ewc", {(1e-3, 1000)})],
)
def test_the_searches_of_tables_e9_to_e11_are_of_their_text_and_of_what_they_print(name, intervention, printed):
    """printed: of Leaky-ReLU on Permuted MNIST, beside strengths × learning rates (tests/launch/runs/values)."""
    runs = runs_of(name, "seed=0", "benchmark=permuted_mnist", "activation=leaky_relu,prelu")
    assert len(runs) == 2 * 3 * 3 + len(printed)
    assert {run.science["intervention"]["name"] for run in runs} == {intervention}
    pairs_of = {(run.science["optimizer"]["lr"], run.science["intervention"]["strength"]) for run in runs}
    assert printed <= pairs_of
    assert {run.science["activation"].get("negative_slope") for run in runs} == {0.6, None}


@pytest.mark.walk(1)
@pytest.mark.parametrize(("number", "benchmark"), [*enumerate(BENCHMARKS, start=4)])
def test_tables_of_interventions_are_made_by_their_presets(number, benchmark):
    """Every cell of the paper's five times, and a network that begins anew beside them."""
    runs = runs_of(f"tableE{number}")
    cells = {(run.science["intervention"]["name"], run.science["activation"]["name"]) for run in runs}
    lines = reported.lines("tableE4_E8_interventions.csv")
    theirs = {(line["intervention"], line["activation"]) for line in lines if line["benchmark"] == benchmark}
    assert cells == theirs | {("fresh_each_task", activation) for _, activation in theirs}
    assert len(runs) == 5 * len(cells)
    assert {run.science["benchmark"]["name"] for run in runs} == {benchmark}


@pytest.mark.slow
@pytest.mark.sample(3)
def test_ten_thousand_runs_are_planned(tmp_path, monkeypatch):
    """Measured: six seconds and a third of a GiB; here, that it is one plan and nothing is trained."""
    seen = []
    monkeypatch.setattr(report, "print_plan", lambda packs, *_: seen.extend(packs))
    assert run_command(["experiment=tableE2_permuted_digits", *SMOKE, f"store={tmp_path}", "dry_run=true"]) == 0
    assert sum(pack.width for pack in seen) == 5 * 3048
