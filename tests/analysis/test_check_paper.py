"""Each kind of check on numbers made up so that the answer is known."""

from decimal import Decimal

import numpy as np
import pytest
import scipy.stats

from analysis.check_paper.aggregates import (
    check_aggregates,
    check_final_accuracies,
    check_numbers_in_text,
    check_same_cells,
    check_spread,
)
from analysis.check_paper.grids import (
    check_environments,
    check_learning_rates,
    check_preferred_rate,
    check_rows,
    check_settings_counted,
    check_strengths,
    check_timesteps,
    placed,
)
from analysis.check_paper.ranks import (
    check_failures,
    check_points,
    check_resolution,
    compared,
    fewest_failed,
    p_range,
    possible_points,
    ranked,
)
from analysis.check_paper.sheets import Cell, Printed, Sheet, Verdict, iqm, sd

AGREES, DISAGREES, OPEN = Verdict.AGREES, Verdict.DISAGREES, Verdict.OPEN


def cell(mean, sd):
    return Cell(Printed(mean), Printed(sd))


def column(**means):
    return {name: Cell(Printed(mean)) for name, mean in means.items()}


def table(name, lines, by="benchmark"):
    """A table of lines `column activation mean sd`."""
    fields = (by, "activation", "mean", "sd")
    return Sheet(name, [dict(zip(fields, line.split(), strict=True)) for line in lines], by, "mean", "sd")


def verdicts(found):
    return [one.verdict for one in found]


def test_a_printed_number_is_half_a_unit_of_its_last_digit_wide():
    assert (Printed("84.10").low, Printed("84.10").high) == (Decimal("84.095"), Decimal("84.105"))
    assert (Printed("-1.0e6").low, Printed("-1.0e6").high) == (-1050000, -950000)
    assert Printed("0.330").repeats(Printed("0.3305"))
    assert not Printed("0.330").repeats(Printed("0.3283"))
    assert not Printed("0.3305").repeats(Printed("0.3306")), "of the same digits, they must be the same"


def test_aggregates_by_hand():
    assert iqm([Decimal(4), Decimal(1), Decimal(100), Decimal(2)]) == 3
    assert sd([Decimal(1), Decimal(2), Decimal(3)]) == 1
    with pytest.raises(ValueError, match="3 values"):
        iqm([Decimal(1)] * 3)


def test_p_is_welchs_over_everything_that_is_printed_alike():
    ours, theirs = cell("57.01", "1.59"), cell("49.87", "1.67")
    low, high = p_range(ours, theirs)
    exact = scipy.stats.ttest_ind_from_stats(57.01, 1.59, 5, 49.87, 1.67, 5, equal_var=False).pvalue
    assert low < exact < high < 1.05 * exact
    low, high = p_range(cell("20.00", "1.00"), cell("10.00", "8.00"))  # four degrees of freedom, not eight
    assert low < scipy.stats.ttest_ind_from_stats(20, 1, 5, 10, 8, 5, equal_var=False).pvalue < high < 0.06
    low, high = p_range(ours, theirs)
    for _, a, b in np.random.default_rng(0).uniform(-1, 1, (50, 3)) * 0.005:
        p = scipy.stats.ttest_ind_from_stats(57.01 + a, 1.59 + b, 5, 49.87 - a, 1.67 - b, 5, equal_var=False).pvalue
        assert low <= p <= high


@pytest.mark.parametrize(
    ("ours", "theirs", "significant", "not_significant"),
    [
        (("80.00", "1.00"), ("70.00", "1.00"), AGREES, DISAGREES),
        (("70.00", "1.00"), ("80.00", "1.00"), DISAGREES, AGREES),  # p is as small, but it is below
        (("80.00", "1.00"), ("79.90", "1.00"), DISAGREES, AGREES),
        (("80.00", "0.01"), ("79.99", "0.01"), OPEN, OPEN),  # 80.00 may be 79.995, as 79.99 may
        (("80.00", "0.00"), ("79.98", "0.01"), OPEN, OPEN),  # t is between 1.4 and boundless
    ],
)
def test_a_claim_of_significance(ours, theirs, significant, not_significant):
    assert compared(cell(*ours), cell(*theirs), wanted=True)[1] is significant
    assert compared(cell(*ours), cell(*theirs), wanted=False)[1] is not_significant


@pytest.mark.parametrize(
    ("claim", "name", "others", "verdict"),
    [
        ("best", "relu", [], AGREES),
        ("best", "tanh", [], DISAGREES),
        ("next best", "tanh", ["relu"], DISAGREES),
        ("next best", "elu", ["relu"], OPEN),  # 7.5 and 7.50: neither is above the other for certain
        ("next best", "tanh", ["selu"], AGREES),
        ("next best", "relu", ["tanh"], DISAGREES),  # it is above, not after
        ("above", "relu", ["tanh", "elu"], AGREES),
        ("below", "elu", ["tanh", "relu"], DISAGREES),
        ("below", "tanh", ["elu", "selu"], AGREES),
    ],
)
def test_a_claim_of_rank(claim, name, others, verdict):
    ranks = column(relu="9.0", elu="7.5", selu="7.50", tanh="6.0")
    assert ranked(ranks, claim, name, others)[1] is verdict


def test_gap_and_online_accuracy_come_to_100_at_most():
    online = table("Table 2", ["mnist relu 98.34 0.01", "mnist elu 84.23 0.70", "mnist tanh 60.00 0.10"])
    gap = table("Table E3", ["mnist relu 1.67 0.01", "mnist elu 16.48 0.96", "mnist tanh 20.00 0.10"])
    found = list(check_final_accuracies(online, gap))
    assert verdicts(found) == [OPEN, DISAGREES, AGREES]  # the first is 100.00 if both were rounded up
    assert "84.23 + 16.48 = 100.71" in found[1].arithmetic


def test_how_many_runs_failed_follows_from_mean_and_sd():
    assert fewest_failed(cell("100.0", "5.0")) == (0, 0)
    # One of five at −10,000 and four at −500 have the mean −2400 and the SD 9500 / √5 = 4248.5.
    assert fewest_failed(cell("-2400.0", "4248.6"))[0] == 1
    assert fewest_failed(cell("-2400.0", "4248.0")) == (2, 2)
    assert fewest_failed(cell("-2400.0", "1.0")) == (5, 5)


def four(iqm_delta, **further):
    shared = {"activation": "relu", "iqm_delta": iqm_delta, **further}
    means = {"A": "-49.38", "B": "0.00", "C": "-336.13", "D": "-68.68"}
    return [{"env": env, "delta_mean": mean, "delta_ci95": "1.00", **shared} for env, mean in means.items()]


def test_an_aggregate_is_made_again_and_a_wrong_sign_is_seen():
    right = check_aggregates(Sheet("Table F3", four("-59.03", mean_delta="-113.55", std_delta="151.18")))
    assert verdicts(right) == [AGREES] * 3
    (wrong,) = check_aggregates(Sheet("Table 4", four("59.03")))
    assert wrong.verdict is DISAGREES
    assert "sign" in wrong.arithmetic
    assert verdicts(check_aggregates(Sheet("Table 4", four("-59.05")))) == [DISAGREES]


def test_r_and_p_tell_how_many_points_there_were():
    x = np.arange(12.0)
    r, p = scipy.stats.pearsonr(x, x + 4 * np.sin(5 * x))
    assert possible_points(Printed(f"{r:.4f}"), Printed(f"{p:.3g}")) == [12]
    claims = [{"said_in": "Figure 4", "of": "a", "r": "0.81", "p": "0.0016"}]
    assert verdicts(check_points(claims)) == [AGREES]
    assert verdicts(check_points([*claims, {"said_in": "Figure 4", "of": "b", "r": "0.84", "p": "0.0013"}])) == [
        DISAGREES
    ]


def test_where_all_runs_failed_the_gap_cannot_have_changed():
    rewards = table(
        "Table F2", ["Ant-v5 relu -6.1e4 3.2e4", "Ant-v5 elu -6.0e5 2.6e5", "Ant-v5 tanh 90.0 1.0"], by="env"
    )
    deltas = [
        {"env": "Ant-v5", "activation": name, "delta_mean": mean, "delta_ci95": half}
        for name, mean, half in (("relu", "862.09", "2004.43"), ("elu", "0.00", "0.00"), ("tanh", "0.00", "0.00"))
    ]
    found = check_failures(rewards, Sheet("Table F3", deltas))
    assert [(one.subject.split(",")[0], one.verdict) for one in found] == [
        ("ReLU", DISAGREES),
        ("eLU", AGREES),
        ("eLU", AGREES),
        ("Tanh", DISAGREES),  # Δ says that every run failed, the rewards that none need have
    ]


def test_what_is_printed_twice_is_printed_alike():
    part, whole = Sheet("Table 4", four("59.03")), Sheet("Table F3", four("-59.03"))
    found = list(check_same_cells(part, whole, ["env", "activation"], ["delta_mean", "iqm_delta"]))
    assert [one.subject for one in found if one.verdict is DISAGREES] == ["ReLU: IQM"]
    assert len(found) == 5, "a number of the row is looked at once"
    sheets = {"Table F1": Sheet("Table F1", [{"activation": "relu", "iqm": "0.3853"}])}
    claim = {"said_in": "text", "table": "Table F1", "column": "iqm", "row": "activation=relu"}
    found = check_numbers_in_text([{**claim, "said": "0.385"}, {**claim, "said": "0.388"}], sheets)
    assert verdicts(found) == [AGREES, DISAGREES]


@pytest.mark.parametrize(
    ("settings", "verdict"),
    [
        ({"c": 1.0, "lower": 0.3, "upper": 0.8}, AGREES),
        ({"c": 2, "lower": 0.5, "upper": 2.5}, AGREES),
        ({"c": 1, "lower": 0.3, "upper": 0.6}, DISAGREES),
        ({"c": 9, "lower": 0.3, "upper": 0.8}, DISAGREES),
        ({"c": 1, "lower": 0.3, "upper": 0.8, "scope": "layer"}, OPEN),
    ],
)
def test_settings_lie_in_one_of_the_grids(settings, verdict):
    grids = [
        {"c": [1, 2], "lower": [0.3, 0.5], "upper": [0.8]},
        {"c": [1, 2], "lower, upper": [[0.5, 2.5]]},
    ]
    assert placed(settings, grids)[1] is verdict
    assert placed(settings, [])[1] is OPEN


def test_best_strengths_and_learning_rates():
    lines = [
        {"intervention": "snr", "benchmark": "mnist", "activation": name, "lr": lr, "strength": strength}
        for name, lr, strength in (("relu", "1e-3", "0.001"), ("tanh", "1e-4", "3e-3"), ("elu", "1e-4", "3e-3"))
    ]
    grids = [{"intervention": "snr", "values": "1e3 3e-3"}]
    found = check_strengths(lines, grids, {"snr": "Table E10"})
    assert [(one.subject, one.verdict) for one in found] == [("0.001", DISAGREES), ("0.003", AGREES)]
    bests = [{"benchmark": "mnist", "activation": name, "lr": "0.001"} for name in ("relu", "tanh", "elu")]
    assert verdicts(check_learning_rates(lines, bests, {"snr": "Table E10"})) == [AGREES, DISAGREES, DISAGREES]
    said = {"what": "preferred learning rate", "of": "mnist", "said_in": "text"}
    assert check_preferred_rate({**said, "said": "1e-3"}, bests).verdict is AGREES
    assert check_preferred_rate({**said, "said": "1e-4"}, bests).verdict is DISAGREES


def test_counts_rows_and_environments():
    schedule = [
        dict(zip(("benchmark", "tasks_of", "images", "batch", "epochs", "timesteps"), line.split(), strict=True))
        for line in ("mnist all 1200 16 400 30000", "mnist all 1200 16 400 3000", "cifar51 easy 500 32 50 780")
    ]
    assert verdicts(check_timesteps(schedule)) == [AGREES, DISAGREES, AGREES]  # 780 · 32 / 500 = 49.92, "≈ 50"
    said = {"of": "relu", "said": "12"}
    assert verdicts(check_settings_counted(said, {"c": [1, 2, 3], "lower": [0, 5], "upper": [4, 6]})) == [
        AGREES,
        DISAGREES,  # 5 is above 4
    ]
    assert verdicts(check_rows({"Table 2": ["relu", "elu"], "Table E3": ["elu"]}, "Table 2")) == [DISAGREES]
    rows = {"Table F2": [{"env": "Ant-v5"}, {"env": "Hopper-v5"}]}
    assert verdicts(check_environments({"said": "Hopper Ant", "said_in": "text"}, rows)) == [AGREES]
    assert verdicts(check_environments({"said": "Hopper Walker2d", "said_in": "text"}, rows)) == [DISAGREES]


def test_the_last_digits_tell_one_task_from_many():
    coarse = table("Table E8", [f"ewc a{n} {40 + 0.4 * n:.2f} 1.00" for n in range(30)])
    fine = table("Table E8", [f"ewc a{n} {40 + 0.37 * n:.2f} 1.00" for n in range(30)])
    for sheet, verdict in ((coarse, DISAGREES), (fine, AGREES)):
        assert verdicts(check_resolution({"continual_imagenet": sheet}, {"continual_imagenet": 50}, "averages")) == [
            verdict
        ]


def test_differences_that_grow_relative_to_the_mean_alone():
    sheet = table("Table 1", ["iid a 72.00 1.00", "iid b 60.00 1.00", "cil a 30.00 1.00", "cil b 20.00 1.00"])
    found = check_spread({"of": "iid cil", "said_in": "text"}, sheet)
    assert verdicts(found) == [DISAGREES, AGREES]  # 12 and 10; 8.49 / 66 and 7.07 / 25
