import csv
import io

import pytest

from analysis.rows import Planned, rows
from analysis.statistics.two_groups import hedges, paired, welch
from analysis.tables.build import build
from analysis.tables.caption import caption
from analysis.tables.declared.means import HEADLINE, TABLE2
from analysis.tables.render import csv_text, text
from tests.helpers.built_tables import built, by_label, column
from tests.helpers.made_up_agent import PLAYER


def test_the_best_is_bold_and_tested_against_the_next(seeds):
    values = {"relu": [0.50, 0.51, 0.52], "tanh": [0.70, 0.71, 0.72], "rrelu": [0.80, 0.81, 0.83]}
    cells = column(built([record for name in values for record in seeds(name, values[name])]))
    best = cells["RReLU"]
    assert [label for label, cell in cells.items() if cell.best] == ["RReLU"]
    assert best.next == "Tanh"
    assert best.against_next.p == pytest.approx(welch(values["rrelu"], values["tanh"]).p)
    assert best.significant
    assert not cells["Tanh"].significant  # though its p against ReLU is as small
    assert cells["Tanh"].against_next.p < 0.05


def test_beside_welchs_p_stand_its_correction_for_the_table_the_effect_and_the_paired_test(seeds, benchmarks):
    digits = {"relu": [0.50, 0.51, 0.52], "tanh": [0.52, 0.535, 0.54], "rrelu": [0.10, 0.11, 0.13]}
    mnist = {"relu": [0.60, 0.61, 0.62], "tanh": [0.70, 0.71, 0.72]}
    records = [record for name in digits for record in seeds(name, digits[name])]
    records += [record for name in mnist for record in seeds(name, mnist[name], benchmark=benchmarks["mnist"])]
    result = built(records)
    cells = by_label(result)
    tests = {label: welch(values["tanh"], values["relu"]).p for label, values in {"d": digits, "m": mnist}.items()}
    first, second = cells["Tanh", "Permuted digits"], cells["Tanh", "Permuted MNIST"]
    assert (first.holm, second.holm) == pytest.approx((max(tests["d"], 2 * tests["m"]), 2 * tests["m"]))
    assert cells["ReLU", "Permuted digits"].holm is None, "only what a table is read for is corrected for"
    assert first.effect.g == pytest.approx(hedges(digits["tanh"], digits["relu"]).g)
    assert first.paired.p == pytest.approx(paired(digits["tanh"], digits["relu"]).p)
    assert second.paired.p is None, "each seed differs by as much"
    (line,) = (line for line in caption(result.table, result) if line.startswith("Permuted digits: Tanh against ReLU"))
    assert f"Holm {first.holm:.2g}, paired {first.paired.p:.2g}), g = {first.effect.g:.2f} [" in line
    lines = csv.DictReader(io.StringIO(csv_text([result.table.listing(result)])))
    (csv_line,) = (line for line in lines if line["holm_p_against_next"] == str(first.holm))
    assert float(csv_line["g_low"]) < float(csv_line["g_against_next"]) < float(csv_line["g_high"])


def test_cells_with_other_seeds_have_no_paired_test(record):
    records = [record("relu", seed, 0.5 + seed / 99) for seed in (0, 1, 2)]
    records += [record("tanh", seed, 0.6 + seed**2 / 99) for seed in (1, 2, 3)]
    cells = column(built(records))
    assert cells["Tanh"].best
    assert cells["Tanh"].paired is None
    assert cells["Tanh"].effect.g > 0


@pytest.mark.parametrize("status", ["diverged", "failed", "stopped"])
def test_a_cell_with_a_lost_run_has_the_mean_of_the_others_and_is_out_of_bold_and_test(record, seeds, status):
    records = [*seeds("relu", [0.50, 0.51, 0.52]), *seeds("tanh", [0.9, 0.92]), record("tanh", 2, 0.1, status=status)]
    cells = column(built(records))
    assert cells["Tanh"].mean == pytest.approx(91)
    assert (cells["Tanh"].n, cells["Tanh"].expected, getattr(cells["Tanh"], status)) == (2, 3, 1)
    assert not cells["Tanh"].best
    assert cells["Tanh"].against_next is None
    assert cells["ReLU"].best


def test_plans_say_how_many_runs_there_should_be_and_without_plans_the_fullest_cell_of_the_column(seeds):
    relu, tanh = seeds("relu", [0.5, 0.5, 0.6]), seeds("tanh", [0.9, 0.92])
    cells = column(built([*relu, *tanh]))
    assert (cells["Tanh"].n, cells["Tanh"].expected, cells["Tanh"].complete) == (2, 3, False)
    everything = {record["run"]: record for record in [*relu, *tanh]}
    cells = column(built([*relu[:1], *tanh], Planned(set(everything), everything)))
    assert (cells["ReLU"].n, cells["ReLU"].expected) == (1, 3)
    assert (cells["Tanh"].n, cells["Tanh"].expected) == (2, 2)


def test_runs_of_different_settings_are_never_averaged(seeds):
    records = [
        *seeds("leaky_relu", [0.7, 0.8], negative_slope=0.3),
        *seeds("leaky_relu", [0.5, 0.6], negative_slope=0.1),
        *seeds("relu", [0.4, 0.5]),
    ]
    result = built(records)
    assert [row.label for row in result.rows] == [
        "ReLU",
        "Leaky-ReLU (negative_slope=0.1)",
        "Leaky-ReLU (negative_slope=0.3)",
    ]
    cells = column(result)
    assert [cells[row.label].mean for row in result.rows] == pytest.approx([45, 55, 75])


def test_a_setting_that_differs_only_between_columns_needs_no_name(seeds, benchmarks):
    records = [
        *seeds("leaky_relu", [0.5, 0.6], negative_slope=0.1),
        *seeds("leaky_relu", [0.7, 0.8], benchmark=benchmarks["mnist"], negative_slope=0.3),
    ]
    assert [row.label for row in built(records).rows] == ["Leaky-ReLU"]


def test_runs_of_other_settings_have_a_column_of_their_own(record, seeds, benchmarks):
    shorter = {**benchmarks["digits"], "tasks": 5}
    players = [played(record, 1.0, 0.5), played(record, 1.0, 0.5, seed=1)]
    players[1]["science"]["agent"]["name"] = "gambler"
    for records, labels in (
        ([*seeds("relu", [0.5]), *seeds("tanh", [0.8], benchmark=shorter)], ["tasks=5", "tasks=10"]),
        (
            [*seeds("relu", [0.5]), *seeds("tanh", [0.6], science={"precision": "bf16"})],
            ["precision=bf16", "precision=fp32"],
        ),
        (players, ["gambler", "player"]),
    ):
        (result,) = build(HEADLINE, rows(records))
        assert [heading.label for heading in result.columns] == [f"Permuted digits ({label})" for label in labels]
        assert all(cell.best for cell in result.cells.values()), "the best of one"


@pytest.mark.parametrize("what", ["protocol", "schedule", "hyperparams", "intervention"])
def test_selections_have_a_table_each(seeds, what):
    results = build(TABLE2, rows([*seeds("relu", [0.5]), *seeds("relu", [0.7, 0.7], lr=0.01, **{what: "another"})]))
    assert len(results) == 2
    assert sorted(len(column(result)["ReLU"].values) for result in results) == [1, 2]
    assert len({result.selection[what] for result in results}) == 2


def test_a_run_repeated_under_another_id_counts_once(record):
    old, new = record(taoa=0.5, provenance={"end": "2026-01-01"}), record(taoa=0.7, provenance={"end": "2026-01-02"})
    cell = column(built([{**old, "run": "older"}, new]))["ReLU"]
    assert cell.values == (pytest.approx(70),)
    assert cell.superseded == 1


def test_rows_stand_in_the_papers_order_and_newcomers_after_them(record):
    names = ["zeta", "alpha", "rselu", "bo_prelu", "rand_smooth_leaky", "tanh", "relu", "celu", "elu"]
    assert [row.name for row in built([record(name) for name in names]).rows] == [
        *["relu", "tanh", "celu", "elu", "rand_smooth_leaky", "bo_prelu", "rselu", "alpha", "zeta"]
    ]


def test_what_records_say_of_their_runs_is_counted_and_said(seeds):
    records = seeds("relu", [0.5, 0.6])
    records[1]["flags"] = {"unstable": True, "lost": False}
    result = built(records)
    assert column(result)["ReLU"].flagged == {"unstable": 1}
    assert "(1 unstable)" in text([result.table.listing(result)])
    assert "unstable: " in "\n".join(caption(result.table, result))


def test_a_metric_without_a_better_direction_has_no_best(record):
    cells = column(built([record("relu"), record("tanh")], metric="seconds"))
    assert cells["ReLU"].mean == 2.5
    assert not any(cell.best for cell in cells.values())


def test_the_caption_says_what_data_are_trained_on_and_what_makes_numbers_others_than_the_papers(record, benchmarks):
    def said(*records):
        (result,) = build(TABLE2, rows(records))
        return "\n".join(caption(result.table, result))

    assert "embedded" in said(record())
    assert "demo" in said(record())
    assert "recency" not in said(record())
    blocks = record(benchmark=benchmarks["cifar51"], schedule="full", provenance={"data_part": True})
    failed = record("tanh", status="failed", benchmark=benchmarks["cifar51"], schedule="full")
    del failed["provenance"]["data_part"]  # it never saw its data
    for word in ("part of", "recency"):
        assert word in said(blocks, failed)
    assert "reduced" not in said(blocks, failed)
    cheetah = {"name": "mujoco", "bodies": ["halfcheetah"], "tasks": 1}
    unclipped = record(benchmark=cheetah, science={"agent": {"name": "ppo", "clip_action": False}})
    assert "protocol=clean" in said(unclipped)


def played(record, mean_return, regret, **what):
    """A record of an agent that measures something else."""
    one = record(science={"agent": {"name": "player"}}, **what)
    one["summary"] = {"mean_return": mean_return, "regret": regret, "parameters": 5, "seconds": 1.0}
    return one | {"measures": PLAYER.as_json()}


def test_the_headline_of_each_agent_has_a_table_of_its_own(record, seeds):
    players = [played(record, 10.0 + seed, 3.0, seed=seed) for seed in range(3)]
    one, other = build(HEADLINE, rows([*seeds("relu", [0.5, 0.6]), *players]))
    assert (one.metric.name, other.metric.name) == ("mean_return", "taoa")
    assert (one.metric.unit, other.metric.unit) == ("points", "%")
    (cell,) = one.cells.values()
    assert (cell.mean, cell.n, cell.beside) == (11.0, 3, {"parameters": 5, "seconds": 1.0})
    assert caption(one.table, one)[0] == "Mean return (points), mean ± SD over 3 seeds."


def test_where_less_is_better_the_lowest_is_bold(record):
    players = [
        played(record, 1.0, regret, activation=name, seed=seed)
        for name, regrets in {"relu": [5.0, 5.1], "tanh": [2.0, 2.1]}.items()
        for seed, regret in enumerate(regrets)
    ]
    cells = column(built(players, metric="regret"))
    assert [label for label, cell in cells.items() if cell.best] == ["Tanh"]
    assert cells["Tanh"].next == "ReLU"


def test_a_run_that_failed_is_of_the_agent_that_others_tell_of(record):
    failed = record(science={"agent": {"name": "player"}}, seed=7, status="failed")
    found = rows([played(record, 1.0, 0.5), failed, record("tanh")])
    assert [row.declared.headline for row in found] == ["mean_return", "mean_return", "taoa"]


def test_runs_that_were_stopped_early_are_counted_in_cell_and_caption(record, seeds):
    records = [*seeds("relu", [0.50, 0.51, 0.52]), *seeds("tanh", [0.9]), record("tanh", 1, 0.1, status="stopped")]
    shown = TABLE2.listings(rows(records))
    assert "90.00 (1/3, 1 stopped early)" in text(shown)
    assert "Not in the means: 1 run that a search stopped early" in " ".join(caption(TABLE2, built(records)))
    lines = csv.DictReader(io.StringIO(csv_text(shown)))
    assert {line["row"]: line["stopped"] for line in lines if line["n"]} == {"ReLU": "", "Tanh": "1"}
