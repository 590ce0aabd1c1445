from analysis.rows import Planned, rows, varying


def test_a_run_asked_under_two_names_is_found_by_both(record):
    asked = [
        {"protocol": "as_published", "schedule": "full", "hyperparams": name, "benchmark": "permuted_digits"}
        for name in ("default", "best", "best")
    ]
    found = rows([record("leaky_relu", asked_as=asked, negative_slope=0.01)])
    assert [row.hyperparams for row in found] == ["default", "best"]
    assert len({row.run for row in found}) == 1


def test_what_belongs_to_the_activation_is_told_from_what_the_study_holds_fixed(record):
    (row,) = rows([record("leaky_relu", lr=0.003, negative_slope=0.1)])
    assert row.own == {"activation.negative_slope": 0.1, "optimizer.lr": 0.003}
    assert row.study["benchmark.tasks"] == 10
    assert row.study["network.hidden"] == 100
    assert "seed" not in row.study


def test_runs_with_a_stream_seed_of_their_own_are_no_replicates_of_the_others(record):
    first, second = rows([record(), record(science={"stream_seed": 3})])
    assert varying([first.study, second.study]) == ["stream_seed"]
    (third,) = rows([record(science={"stream_seed": 4})])
    assert third.study == second.study


def test_a_planned_run_without_a_record_waits_and_one_with_a_record_does_not(record):
    done, waiting = record(seed=0), record(seed=1)
    planned = Planned({done["run"], waiting["run"]}, {each["run"]: each for each in (done, waiting)})
    found = {row.run: row.status for row in rows([done], planned)}
    assert found == {done["run"]: "done", waiting["run"]: "waiting"}
    assert all(row.planned for row in rows([done], planned))
    assert not any(row.planned for row in rows([done]))


def test_runs_of_before_a_setting_group_with_those_that_have_it_at_its_neutral_value(record):
    before = {"network": {"name": "mlp", "width": 100}}
    today, normed = ({"network": {"name": "mlp", "width": 100, "norm": norm}} for norm in ("none", "layer"))
    old, new, other = rows([record(science=before), record(science=today), record(science=normed)])
    assert old.study == new.study
    assert old.study["network.norm"] == "none"
    assert varying([old.study, other.study]) == ["network.norm"]
    (outside,) = rows([record(science={"network": {"name": "somebodys"}})])
    assert "network.norm" not in outside.study
