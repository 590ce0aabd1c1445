from launch.runs.groups import Protocol, Schedule
from launch.runs.options import Option
from launch.runs.precedence import before_hyperparams, capped, overlaid
from launch.runs.values.place import put


def test_a_cap_lowers_and_never_raises_and_null_is_no_limit():
    settings = {"tasks": 500, "epochs": 1, "steps": None, "order": "fixed"}
    caps = {"tasks": 3, "epochs": 2, "steps": 100, "images": 7}  # no cap on images, which it does not have
    assert capped(settings, caps) == {"tasks": 3, "epochs": 1, "steps": 100, "order": "fixed"}


def test_a_protocol_sets_what_a_group_has_and_nothing_else():
    nodes = {"benchmark": {"order": "fixed"}, "network": {}}
    values = {"benchmark": {"order": "shuffle", "labels": "iid"}, "network": {"order": "x"}, "nowhere": {"a": 1}}
    assert overlaid(nodes, values) == {"benchmark": {"order": "shuffle"}, "network": {}}


def test_what_is_found_over_protocol_over_schedule_over_option():
    options = {
        "benchmark": Option(
            "benchmark",
            "b",
            "plasticity_lab.benchmarks.labelled.permuted_pixels.PermutedPixels",
            {"source": "digits", "images": 10, "tasks": 9, "epochs": 9, "steps": 9, "batch_size": 1},
        )
    }
    schedule = Schedule(at_most={"tasks": 3, "epochs": 3, "steps": 3})
    protocol = Protocol(set={"benchmark": {"epochs": 2, "steps": 2, "order": "shuffle"}})
    found = put({"benchmark": {"steps": 1}}, before_hyperparams(options, schedule, protocol))["benchmark"]
    assert (found["images"], found["tasks"], found["epochs"], found["steps"]) == (10, 3, 2, 1)
    assert found["order"] == "shuffle", "a setting that the file leaves to the constructor is set too"


def test_a_schedule_caps_what_a_class_declares_and_a_protocol_comes_after_it():
    ppo, dqn = (
        {"agent": Option("agent", "a", f"plasticity_lab.agents.{path}", {"environments": 4})}
        for path in ("ppo.agent.PPO", "value.agent.DQN")
    )
    schedule = Schedule(at_most={"environments": 1, "min_history": 30, "capacity": 50})
    protocol = Protocol(set={"agent": {"capacity": 40}})
    assert before_hyperparams(ppo, schedule, protocol)["agent"]["environments"] == 4
    found = before_hyperparams(dqn, schedule, protocol)["agent"]
    assert (found["environments"], found["min_history"], found["capacity"]) == (4, 30, 40)
    assert found["target_period"] == 8_000
