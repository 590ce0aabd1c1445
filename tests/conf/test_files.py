"""Every file of conf/ composes, builds, and is run by the command in its first lines."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from launch.command import resolve
from launch.runs.groups import AUTO, COMPONENTS, RULES
from launch.runs.options import CONF, classes_of
from plasticity_lab import component
from plasticity_lab.benchmarks.bodies.benchmark import BodyCycle
from plasticity_lab.benchmarks.labelled.permuted_pixels import PermutedPixels
from tests.helpers.stores import left_behind

FILES = sorted(path for path in CONF.rglob("*.yaml"))
OPTIONS = [(path.parent.name, path.stem) for path in FILES if path.parent.name in (*COMPONENTS, *RULES)]
COMMAND = re.compile(r"^# python -m plasticity_lab\.main(.*)$", re.MULTILINE)


@pytest.fixture(scope="module", autouse=True)
def _a_store_to_select_from(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLASTICITY_STORE", str(folder))
        left_behind(folder, ["activation=relu,leaky_relu"], lambda run: 0.5)
        yield


def beside(group, name):
    """Choices that go with an option where the usual ones do not, and what a search is to search."""
    content = yaml.safe_load((CONF / group / f"{name}.yaml").read_text())
    target = content.get("_target_")
    if (group, name) == ("hyperparams", "search"):
        return ["optimizer.lr=tag(log,interval(1e-3,1e-2))"]
    if group == "intervention" and component.load(target).unit_kind == "expert":
        return ["head=softmoe", "head.experts=4", "network=cnn_case_study"]
    if group == "head":
        return ["network=cnn_case_study"]
    if (group, name) == ("network", "cnn"):  # the digits have 8 × 8 pixels
        return ["network.padding=same"]
    if name == "cloning":
        return ["agent=dqn", "benchmark=catch"]
    if name == "nap":
        return ["network.norm=layer"]
    if (group, name) == ("network", "pixel_actor_critic"):
        return ["agent=sac", "benchmark=cale", "agent.policy_period=1", "agent.actor_lr=null"]
    if group == "target" and name != "auto":
        return ["benchmark=catch", f"agent={'rainbow' if component.load(target).double else 'dqn'}"]
    if group != "agent" or target is None or issubclass(PermutedPixels, component.load(target).learns):
        return []
    if name == "regression":
        return ["benchmark=slowly_changing_regression"]
    if name == "sac":  # whose actions are numbers
        return ["benchmark=mujoco"]
    if content.get("noisy"):
        return ["benchmark=catch"]
    moves = issubclass(BodyCycle, component.load(target).learns)
    return ["benchmark=classic_cycle" if moves else "benchmark=split_digits"]


def _asked_besides(run, group):
    """The option that a run's choices of a group are: a set, where its members are all that is chosen."""
    if group not in run.besides:
        return None
    contents = {path.stem: yaml.safe_load(path.read_text()) for path in (CONF / group).glob("*.yaml")}

    def members(name):
        named = contents[name].get("members")
        return [name] if named is None else [each for member in named for each in members(member)]

    return next(name for name in contents if "+".join(members(name)) == run.name(group))


@pytest.mark.walk(12)
@pytest.mark.parametrize(("group", "name"), OPTIONS)
def test_every_option_composes_and_its_component_builds(group, name):
    run, *others = resolve([f"{group}={name}", *beside(group, name), "seed=100"]).runs
    assert not others or name in ("grid", "search")
    content = yaml.safe_load((CONF / group / f"{name}.yaml").read_text())
    assert run.asked_as[0].get(group, _asked_besides(run, group)) == name
    if group in COMPONENTS and "_target_" in content:
        assert run.name(group) == name
        built = component.build(group, name, run.targets[group], run.settings(group))
        assert isinstance(built, component.Component)


@pytest.mark.walk(10)
@pytest.mark.parametrize(
    "path",
    [path for path in FILES if "experiment" not in path.parts],  # which test_experiments.py plans
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
def test_the_command_in_a_file_names_runs_made_with_it(path):
    written = COMMAND.findall("\n".join(path.read_text().splitlines()[:2]))
    assert written, "the first line is the command that runs the file (the second, below a @package line)"
    found = resolve(shlex.split(written[0]))
    run = found.runs[-1]
    asked = run.asked_as[0] | {"tracking": found.settings.tracking.backend}
    asked |= {group: _asked_besides(run, group) for group in run.besides}
    if path.parent.name == "launcher":
        assert f"hydra/launcher={path.stem}" in written[0]
    elif path.parent != CONF:
        assert path.stem in (asked[path.parent.name], "glob") or "glob" in written[0]


def test_a_glob_offers_exactly_the_files():
    found = {run.science["activation"]["name"] for run in resolve(["activation=glob(*)"]).runs}
    assert found == {path.stem for path in (CONF / "activation").glob("*.yaml")}
    no_options = (CONF / "hydra" / "launcher", CONF / "experiment" / "shared")
    below = [path for path in CONF.glob("*/*/*") if path.parent not in no_options]
    assert not below, "options in sub-folders would escape globs"


@pytest.mark.parametrize("rule", ["protocol", "schedule"])
def test_a_rule_names_only_settings_that_some_class_has(rule):
    known = set()
    for path in (CONF / "benchmark").glob("*.yaml"):
        known |= set(component.parameters(component.load(yaml.safe_load(path.read_text())["_target_"])))
    if rule == "schedule":
        known |= {name for each in COMPONENTS for cls in classes_of(each) for name in cls.capped}
    for path in (CONF / rule).glob("*.yaml"):
        content = yaml.safe_load(path.read_text())
        named = content["at_most"] if rule == "schedule" else content["set"].get("benchmark", {})
        assert set(named) <= known


def test_the_groups_that_a_run_is_made_of_are_declared_as_their_folders_have_them():
    folders = {path.parent.name for path in FILES if re.search("^_target_: plasticity_lab", path.read_text(), re.M)}
    assert folders == set(COMPONENTS)
    empty = {
        name
        for name in COMPONENTS
        if (path := CONF / name / "auto.yaml").exists() and "_target_" not in path.read_text()
    }
    assert empty == AUTO.keys(), "the benchmark's file says what auto means"
    assert all((CONF / name / f"{each.neutral}.yaml").exists() for name, each in COMPONENTS.items() if each.neutral)
    for path in (CONF / "benchmark").glob("*.yaml"):
        content = yaml.safe_load(path.read_text())
        assert all((CONF / group / f"{content[key]}.yaml").exists() for group, key in AUTO.items()), path
    assert [path for path in FILES if "${" in path.read_text()] == [], "no file refers to another"


def test_the_mnist_benchmarks_are_those_of_table_e1():
    permuted, labels = (
        resolve([f"benchmark={name}"]).runs[0].science["benchmark"] for name in ("permuted_mnist", "random_label_mnist")
    )
    assert permuted["tasks"] == 500
    assert permuted["epochs"] * permuted["images"] / permuted["batch_size"] == 625
    assert (labels["tasks"], labels["epochs"], labels["images"], labels["batch_size"]) == (50, 400, 1200, 16)


def test_the_schedules_shorten_every_benchmark():
    caps = yaml.safe_load((CONF / "schedule" / "smoke.yaml").read_text())["at_most"]
    assert (caps["tasks"], caps["steps"], caps["epochs"], caps["environment_steps"]) == (3, 100, 2, 4096)
    smoke, full_length = (
        {
            run.name("benchmark"): run.science["benchmark"]
            for run in resolve(["benchmark=glob(*)", f"schedule={name}"]).runs
        }
        for name in ("smoke", "full")
    )
    for path in (CONF / "benchmark").glob("*.yaml"):
        cut, full = smoke[path.stem], full_length[path.stem]
        capped = {key: cap if full[key] is None else min(cap, full[key]) for key, cap in caps.items() if key in full}
        assert cut == full | capped != full


@pytest.mark.walk(3)
@pytest.mark.parametrize("name", [path.stem for path in sorted((CONF / "agent").glob("*.yaml"))])
def test_the_schedules_shorten_what_an_agent_declares_and_nothing_else_of_it(name):
    """An agent's warm-up alone could be longer than a smoke run; what others call by such a name stays as it is."""
    caps = yaml.safe_load((CONF / "schedule" / "smoke.yaml").read_text())["at_most"]
    cut, full = (
        resolve([f"agent={name}", *beside("agent", name), f"schedule={schedule}"]).runs[0]
        for schedule in ("smoke", "full")
    )
    own = component.load(full.targets["agent"]).capped
    shorter, longer = cut.science["agent"], full.science["agent"]
    assert shorter == longer | {key: min(cap, longer[key]) for key, cap in caps.items() if key in own}
    assert own <= caps.keys()
    assert (shorter != longer) == bool(own)


def test_published_values_suit_the_activations_they_are_published_for():
    words = "activation=glob(*,exclude=[aid,hadamard])"  # of later papers
    found = resolve([words, "benchmark=permuted_mnist,random_label_mnist", "hyperparams=best"])
    assert found.notes == []
    table = {(run.science["benchmark"]["name"], run.science["activation"]["name"]): run for run in found.runs}
    assert table["permuted_mnist", "leaky_relu"].science["activation"]["negative_slope"] == 0.6
    assert table["random_label_mnist", "relu"].science["optimizer"]["lr"] == 0.0001


def test_the_readme_of_the_published_tables_names_them_all():
    folder = Path(CONF / "published")
    text = (folder / "README.md").read_text()
    assert all(f"`{path.name}`" in text for path in folder.glob("*.csv"))
