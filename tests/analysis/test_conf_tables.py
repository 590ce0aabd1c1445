"""Tables E1, B1 and the second paper's 1, made of the files of conf/; they need no runs."""

from analysis.rows import rows
from analysis.tables import TABLES
from analysis.tables.declared.table_conf import schedules
from analysis.tables.render import latex, text


def lines(name, records=()):
    (shown,) = TABLES[name].listings(rows(records))
    return shown


def test_the_schedules_of_this_version_are_those_of_the_paper():
    shown = lines("tableE1")
    of = {(line["benchmark"], line["tasks_of"]): line for line in shown.lines}
    whole = ("permuted_mnist", "random_label_mnist", "random_label_cifar", "continual_imagenet")
    for place in (*((name, "all") for name in whole), ("cifar51", "hard"), ("cifar51", "easy")):
        for what in ("images", "batch", "epochs", "steps", "tasks"):
            assert of[place][what] == of[place][f"paper_{what}"], (place, what)
    assert of["permuted_digits", "all"]["steps"] == 90
    assert of["permuted_digits", "all"]["paper_steps"] is None
    assert {line["missing"] for line in shown.lines} == {None}


def test_a_task_ends_after_its_epochs_or_its_steps_whichever_comes_first():
    settings = {"images": 100, "batch_size": 16, "tasks": 3}
    assert schedules({**settings, "epochs": 2, "steps": None})["all"]["steps"] == 14
    assert schedules({**settings, "epochs": 2, "steps": 5})["all"]["steps"] == 5
    assert schedules({**settings, "epochs": 2, "steps": 50})["all"]["steps"] == 14
    assert schedules({}) == {}


def test_the_grids_count_what_the_paper_counts_and_say_the_source():
    shown = lines("tableB1")
    of = {(line["activation"], line["grid"]): line for line in shown.lines}
    assert of["smooth_leaky", "case_study"]["settings"] == 175
    assert of["rand_smooth_leaky", "case_study"]["settings"] == 450
    assert of["leaky_relu", "case_study and benchmarks"]["settings"] == 33
    assert (of["prelu", "benchmarks"]["source"], of["prelu", "case_study"]["source"]) == ("ours", "paper")
    assert "negative_slope ∈ {0.01, 0.05, " in text([shown])
    assert r"p{0.6\textwidth}" in latex([shown])


def test_the_grids_say_how_many_settings_a_store_has(seeds):
    records = [*seeds("leaky_relu", [0.5], negative_slope=0.1), *seeds("leaky_relu", [0.6], negative_slope=0.3)]
    of = {line["activation"]: line for line in lines("tableB1", records).lines}
    assert (of["leaky_relu"]["finished"], of["relu"]["finished"]) == (2, 0)


def test_value_agents_have_the_papers_settings_but_for_the_exploration_that_it_does_not_use():
    shown = lines("softmoe1")
    differing = {
        (line["setting"], agent): (line[agent], line[f"{agent} in the paper"])
        for line, cells in zip(shown.lines, shown.body, strict=True)
        for agent, cell in zip(("dqn", "rainbow_lite", "rainbow", "der"), cells[1:], strict=True)
        if "(" in cell and line[agent] is not None
    }
    assert differing == {("Exploration ε", "rainbow"): (0.0, "0.01"), ("Exploration ε", "der"): (0.0, "0.01")}
    of = {line["setting"]: line for line in shown.lines}
    assert [of["Update horizon"][agent] for agent in ("dqn", "rainbow_lite", "rainbow", "der")] == [1, 3, 3, 10]
    unknown = [setting for setting, line in of.items() if line["dqn"] is None]
    assert unknown == ["Number of convolutional layers", "Number of dense layers", "Sticky actions"]
