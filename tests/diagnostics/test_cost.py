"""What diagnostics add to the cost of a run is what they come to."""

from pathlib import Path

import pytest

from launch.command import resolve
from launch.plan.figures import AVX2
from plasticity_lab.assembly import cost_of, resources
from plasticity_lab.diagnostics.diagnostic import Diagnostic
from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import runs_of, trained

WORDS = ("seed=0", "benchmark.images=48", "benchmark.epochs=4")


def cost(*words):
    (run,) = resolve([*words, "benchmark=permuted_digits", "schedule=smoke"]).runs
    return cost_of(run, resources(Path())(run))


def seconds(cost):
    return AVX2.calibration.seconds(cost, "eager", 3)


def test_nothing_is_added_where_none_is_chosen_and_more_looks_take_longer():
    without = cost(*WORDS)
    assert (without.looks, without.looked) == (0, 0)
    priced = {
        every: cost(*WORDS, "diagnostics=cheap", f"diagnostics.every={every}") for every in ("task", "2", "epoch")
    }
    ends = without.epochs
    a_look = priced["epoch"].looks / ends
    assert [each.looks for each in priced.values()] == pytest.approx([3 * a_look, ends // 2 * a_look, ends * a_look])
    taken = [seconds(each) for each in (without, *priced.values())]
    assert taken == sorted(set(taken))
    assert all(each.device_bytes > without.device_bytes for each in priced.values())
    assert all(each.updates == without.updates for each in priced.values())


def test_the_eigenvalue_of_all_parameters_is_dearer_than_that_of_a_block():
    block, whole = (cost(*WORDS, "diagnostics=curvature", f"diagnostics.block={each}") for each in ("auto", "all"))
    assert seconds(whole) > seconds(block) > seconds(cost(*WORDS))


def test_as_many_numbers_are_priced_as_are_left(tmp_path):
    store = Store(tmp_path)
    words = (*WORDS, "diagnostics=[cheap,norms]", "diagnostics.cheap.every=2")
    trained(store, *words)
    (run,) = runs_of(*words)
    table, record = read_metrics(store, run.id), read_record(store, run.id)
    names = set(table.column_names) & set(record["summary"])
    plain = cost(*WORDS)
    of_epochs = table.filter(table["kind"].to_numpy(zero_copy_only=False) == "epoch")
    left = sum(of_epochs.num_rows - of_epochs[name].null_count for name in names if name.startswith("saturated"))
    columns = sum(name.startswith("saturated") for name in names)
    priced = cost(*words)
    assert left == columns * priced.epochs // 2 > 0
    assert priced.looked > left
    assert priced.epochs == plain.epochs == of_epochs.num_rows


def test_every_diagnostic_that_is_built_in_says_what_it_takes():
    inherited = [
        name
        for name, each in _built_in().items()
        if "passes" not in vars(type(each)) and "expected_passes" not in vars(type(each))
    ]
    assert inherited == []


def _built_in() -> dict[str, Diagnostic]:
    from plasticity_lab.diagnostics.chosen import diagnostics_of

    return diagnostics_of(resolve(["diagnostics=all"]).runs[0])
