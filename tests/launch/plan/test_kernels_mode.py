"""mode=kernels where a machine has them, and where it has not."""

from dataclasses import replace

import torch

from launch.plan import device
from plasticity_lab.agents.cost import Cost
from plasticity_lab.kernels import build

COST = Cost(10, "steps", 10, flops=10, memory=[], speed="dense", rows=1, parameters=1)


def test_a_processor_without_avx2_takes_the_next_best_and_says_so(monkeypatch, capsys):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "DEFAULT")
    device._say_once.cache_clear()
    assert device.mode_of(COST, "kernels", compiler=True) == "compiled"
    assert device.mode_of(replace(COST, updates=10**6), "kernels", compiler=True) == "compiled"
    told = "".join(capsys.readouterr())
    assert told.count("AVX2") == 1


def test_so_does_one_without_a_compiler(monkeypatch, capsys):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    monkeypatch.setattr(build, "compiler", lambda: None)
    device._say_once.cache_clear()
    assert device.mode_of(COST, "kernels", compiler=False) == "eager"
    assert "compiler" in "".join(capsys.readouterr())


def test_auto_takes_them_where_they_pay_and_a_run_would_be_compiled(monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    monkeypatch.setattr(build, "compiler", lambda: "g++")
    long = replace(COST, updates=10**6, kernels=True)

    def taken(cost, pay=True):
        return device.mode_of(cost, "auto", compiler=True, kernels_pay=pay)

    assert [taken(long), taken(replace(long, updates=10))] == ["kernels", "eager"]
    assert [taken(long, pay=False), taken(replace(long, kernels=False))] == ["compiled", "compiled"]
    monkeypatch.setattr(build, "compiler", lambda: None)
    assert taken(long) == "compiled"


def test_with_both_it_is_what_was_asked(monkeypatch):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    monkeypatch.setattr(build, "compiler", lambda: "g++")
    assert device.mode_of(COST, "kernels", compiler=True) == "kernels"
