"""Sets of diagnostics: one option for several, and settings that are said of all of them."""

import pytest
import yaml

from launch.runs.options import CONF, Option, option_of
from launch.runs.requests import spread
from plasticity_lab.errors import ConfigError
from tests.helpers.sweeps import runs_of

MEMBERS = {
    path.stem: content["members"]
    for path in (CONF / "diagnostics").glob("*.yaml")
    if "members" in (content := yaml.safe_load(path.read_text()))
}


def chosen(*words):
    (run,) = runs_of("seed=0", *words)
    return {run.name(address): run.settings(address) for address in run.addresses("diagnostics")}


def plain(name):
    found = []
    for member in MEMBERS[name]:
        found += plain(member) if member in MEMBERS else [member]
    return found


@pytest.mark.parametrize("name", MEMBERS)
def test_a_set_is_its_members_as_its_file_names_them(name):
    assert [*chosen(f"diagnostics={name}")] == plain(name)
    assert {each["every"] for each in chosen(f"diagnostics={name}", "diagnostics.every=task").values()} == {"task"}


def test_it_names_the_same_runs_and_what_is_said_of_less_counts_more():
    (plain_run,), (seen,) = runs_of("seed=0"), runs_of("seed=0", "diagnostics=cheap")
    assert plain_run.id == seen.id
    words = (
        "diagnostics.every=task",
        "diagnostics.cheap.every=5",
        "diagnostics.dead_units.every=3",
        "diagnostics.tau=0.2",
    )
    found = chosen("diagnostics=[cheap,dead_units]", *words)
    assert found.pop("dead_units") == {"every": 3}
    assert found.pop("dormant_units") == {"every": 5, "tau": 0.2}
    assert {each["every"] for each in found.values()} == {5}


def test_a_set_that_holds_itself_is_refused():
    files = {"one": {"members": ["other"]}, "other": {"members": ["one"]}}

    def option(group: str, name: str) -> Option:
        return option_of(group, name, files[name])

    with pytest.raises(ConfigError, match="diagnostics=one"):
        spread("diagnostics", "one", {}, option)


def test_a_list_of_names_is_set_together_too():
    found = chosen("diagnostics=[saturated,dead_units]", "diagnostics.every=task", "diagnostics.flat=0.01")
    assert found == {"saturated": {"every": "task", "flat": 0.01}, "dead_units": {"every": "task"}}
