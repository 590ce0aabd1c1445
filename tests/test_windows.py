"""The output of commands in windows of 60, 80 and 120 columns, and in a terminal without styles: nothing is cut."""

import io
import pkgutil
import re
import sys
from dataclasses import replace

import pytest

from analysis.__main__ import COMMANDS
from analysis.__main__ import main as analysis
from launch import commands
from launch.__main__ import main as launch
from launch.packs.leases import Leases
from launch.packs.owner import Owner
from launch.packs.progress import Reached, write_progress
from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.plan import write_plan
from plasticity_lab.records.store import Store
from tests.helpers.many_records import made_metrics, write_made
from tests.helpers.sweeps import planned, runs_of

TERMINAL = "xterm-256color"
NARROW = {"60": (60, TERMINAL), "80": (80, TERMINAL), "dumb": (80, "dumb")}
WINDOWS = {**NARROW, "120": (120, TERMINAL)}
WIDE = (400, TERMINAL)
WORKER = Owner("a-node-with-a-long-name.cluster.example.org", 12345)
SWEEP = ("activation=relu,leaky_relu,tanh", "benchmark=permuted_digits,random_label_digits", "seed=0,1")
COMMAND = " ".join([*SWEEP, "intervention=none", "schedule=smoke", "hyperparams=default", "launch.workers=1"])
PAPER = ("check-paper", "reproduction")
"""They read no store."""
PLAIN = {
    "launch": {
        *(
            "assay",
            "calibrate",
            "cancel",
            "check",
            "dashboard",
            "doctor",
            "export",
            "import",
            "logs",
            "observe",
            "resume",
        ),
        "study",
    },
    "analysis": {"figure", "report", "coverage", "preregister"},
}
"""Commands that print sentences or JSON alone, and coverage, which simulates for minutes and draws as reproduction."""


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Finished runs, and a pack that a worker trains."""
    store = Store(tmp_path_factory.mktemp("windows") / "store")
    plan = planned(store, *SWEEP, "launch.workers=1")
    write_plan(store, replace(plan, command=["python", "-m", "plasticity_lab.main", *COMMAND.split()]))
    (held,) = [pack for pack in plan.packs if pack.family == "relu · random_label_digits"]
    metrics = made_metrics(CLASSIFIER, 0)
    for number, run in enumerate(run for run in runs_of(*SWEEP) if run.id not in held.runs):
        write_made(store, run, number, CLASSIFIER, metrics)
    assert Leases(store, 1000, WORKER).claim([held.id])
    write_progress(store, held.id, Reached(100, 0, 3_000.0))
    return store, plan, held


@pytest.fixture
def drawn(store, monkeypatch):
    """From a window and the words of a command to its output there."""
    root, plan, held = store

    def of(window, name):
        main = analysis if name.partition(" ")[0] in COMMANDS else launch
        given = {"SWEEP": plan.sweep, "RUN": held.runs[0], "DONE": plan.packs[0].runs[0]}
        words = [given.get(word, word) for word in name.split()]
        words += [] if words[0] in PAPER else ["--store", str(root.root)]
        screen = Screen()
        with monkeypatch.context() as at:
            for variable, value in zip(("COLUMNS", "TERM"), window, strict=True):
                at.setenv(variable, str(value))
            at.setattr(sys, "stdout", screen)
            assert main(words) == 0
        output = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())
        assert window[1] != "dumb" or output == screen.getvalue(), "no colours"
        return output

    return of


def words_of(output):
    """Its words, without curves and lines, and without the marks of bold cells."""
    return {word.strip("*") for word in output.split() if re.search(r"\w", word) and not re.search("[─-⣿]", word)}


QUICK = ["estimate SWEEP", "show RUN", "show DONE", "table"]
LONGER = ["sync --dry-run", "compare --by activation --no-figure", "cite", *PAPER]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in LONGER)])
def test_every_word_of_a_wide_window_is_in_a_narrow_one(drawn, window, name):
    wide, narrow = (drawn(where, name) for where in (WIDE, WINDOWS[window]))
    assert words_of(wide) <= words_of(narrow)
    assert narrow.count("…") == wide.count("…")
    marked = re.search(r"\*\*\d", narrow) is not None
    assert marked == (name.startswith(("table", "compare")) and window == "dumb"), "bold cells"


@pytest.mark.parametrize("window", NARROW)
def test_in_a_narrow_window_status_has_ids_and_commands_whole_and_one_bar(store, drawn, window):
    _, plan, held = store
    overview = drawn(NARROW[window], "status")
    first, counts, command = overview.splitlines()[:3]
    assert first.split()[0] == plan.sweep
    assert first.count("━") > 0
    assert first.split()[-4:] == ["94", "%", "0:25:00", "left"]
    assert counts.split(" · ") == ["  12 runs", "9 done", "2 running", "1 diverged", "1 collapsed"]
    assert command == f"  {COMMAND}"
    words = drawn(NARROW[window], "status SWEEP").split()
    assert {held.id, *str(WORKER).split(), "relu", "random_label_digits"} <= {*words}


def test_in_a_wide_window_status_is_a_table(store, drawn):
    heads, row = drawn(WINDOWS["120"], "status").splitlines()[:2]
    states = "done running waiting diverged failed collapsed"
    assert heads.split() == f"sweep runs {states} progress time left command".split()
    assert row.split()[:4] == [store[1].sweep, "12", "9", "2"]


def test_every_command_is_drawn_or_plain():
    drawn = {name.partition(" ")[0] for name in [*QUICK, *LONGER, "status"]}
    of_launch = {module.name for module in pkgutil.iter_modules(commands.__path__)}
    assert drawn == (of_launch - PLAIN["launch"]) | (COMMANDS.keys() - PLAIN["analysis"])
