"""What diagnostics add to the cost of a run is what they come to."""

from pathlib import Path

import pytest

from launch.command import resolve
from launch.plan.speed import AVX2
from plasticity_lab.assembly import cost_of, resources
from plasticity_lab.diagnostics.chosen import diagnostics_of
from plasticity_lab.records.classifier import declared_in
from plasticity_lab.records.record import read_metrics, read_record
from plasticity_lab.records.store import Store
from tests.helpers.sweeps import runs_of, trained

WORDS = ("seed=0", "benchmark.images=48", "benchmark.epochs=4")


def cost(*words):
    (run,) = resolve([*words, "benchmark=permuted_digits", "schedule=smoke"]).runs
    return cost_of(run, resources(Path())(run))


def seconds(cost):
    return AVX2.seconds(cost, "eager", 3)


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
    declared = declared_in(record).columns
    left = 0
    for kind, diagnostics in (("epoch", "cheap"), ("task", "norms")):
        rows = table.filter(table["kind"].to_numpy(zero_copy_only=False) == kind)
        own = [column.name for column in declared if "." in column.of and column.taken.get(kind) == "value"]
        assert own, diagnostics
        left += sum(rows.num_rows - rows[name].null_count for name in own)
    assert cost(*words).looked == left


def test_every_diagnostic_that_is_built_in_says_what_it_takes():
    built_in = diagnostics_of(resolve(["diagnostics=all"]).runs[0])
    assert [name for name, each in built_in.items() if "passes" not in vars(type(each)) | vars(each)] == []
