"""All graphs that a pack needs are made before its first step, by one call of the C++ compiler."""

from pathlib import Path

import pytest
import torch

from launch.work.precompile import compile_graphs
from plasticity_lab.agents import graphs
from plasticity_lab.agents.compiled import Compiled, compile_together
from plasticity_lab.assembly import resources
from tests.agents.test_kept_graphs import CASES
from tests.helpers.packs import needs_compiler
from tests.helpers.sweeps import runs_of

AT_ONCE = ("der", "experience_replay", "ppo", "sac", "supervised", "a second batch")
CASES = {
    **CASES,
    "a second batch": ((*CASES["dqn"][0], "intervention=c_chain_dqn"), CASES["dqn"][1]),
    "a second minibatch": ((*CASES["ppo"][0], "intervention=c_chain_discrete"), CASES["ppo"][1]),
    "second images": ((*CASES["supervised"][0], "intervention=c_chain"), CASES["supervised"][1]),
    "perturbed": ((*CASES["supervised"][0], "perturbation=shocks"), CASES["supervised"][1]),
}


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=() if each in AT_ONCE else pytest.mark.slow) for each in CASES]
)
def test_what_is_prepared_is_what_is_called(name, monkeypatch):
    (words, expected), prepared, called = CASES[name], set(), set()
    prepare, known = Compiled.prepare, prepared

    def noted(function, arguments):
        nonlocal known
        known = prepared
        prepare(function, arguments)
        known = called

    def graph_of(function, same, arguments):
        known.add((same[0], graphs._shapes(arguments)))
        return function

    monkeypatch.setattr(Compiled, "prepare", noted)
    monkeypatch.setattr(graphs, "graph_of", graph_of)
    runs = runs_of(*words)
    compile_graphs(runs, resources(Path())(runs[0]), kernels=False)
    assert called == prepared
    assert {each for each, _ in called} == expected


def halved(x):
    return {"half": x.exp() / 2}


def doubled(x, more):
    more["sum"].add_(x.sum())
    return x.exp() * 2


@needs_compiler
def test_they_have_one_library_and_are_the_graphs_of_later_calls(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(graphs, "is_known", lambda module: True)
    graphs.forget()
    x, total = torch.linspace(0, 1, 32), torch.zeros(())
    first, second = Compiled(halved, ["halved"]), Compiled(doubled, ["doubled"])
    compile_together((first, lambda: (x,)), (second, lambda: (x, {"sum": total})), (halved, lambda: 1 / 0))
    assert total == 0, "they are made, not called"
    assert len(list(tmp_path.rglob("*.so"))) == 1
    for _ in range(2):  # with the graphs of this process, then with those on the disk
        with monkeypatch.context() as patched:
            patched.setattr("plasticity_lab.agents.graphs._trace", None)
            assert torch.equal(second(x, {"sum": total}), 4 * first(x)["half"])
        graphs.forget()
        first, second = Compiled(halved, ["halved"]), Compiled(doubled, ["doubled"])
    assert total == 2 * x.sum()
    assert len(list(tmp_path.glob("plasticity_lab/*.graph"))) == 2
