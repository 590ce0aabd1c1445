"""Trials of vector instructions: one that succeeded is not repeated, one that failed is."""

import pytest
from torch._inductor.cpu_vec_isa import VecISA

from plasticity_lab.kernels import build
from plasticity_lab.kernels.instructions import mark_of, remember_instructions


class Instructions:
    def build_arch_flags(self):
        return "-mavx2"


@pytest.fixture
def trials(monkeypatch, tmp_path):
    """The answers of the next trials; the trials done."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    answers, done = [], []

    def tried(instructions, code):
        done.append(code)
        return answers.pop(0)

    monkeypatch.setattr(VecISA, "check_build", tried)
    remember_instructions.__wrapped__()
    return answers, done


def test_a_trial_that_succeeded_is_not_repeated(trials):
    answers, done = trials
    answers += [True, True]
    assert [VecISA.check_build(Instructions(), code) for code in ("a", "a", "b", "a")] == [True] * 4
    assert done == ["a", "b"]
    assert mark_of("a", "-mavx2") != mark_of("a", "-mavx512f")


def test_a_trial_that_failed_is_repeated(trials):
    answers, done = trials
    answers += [False, True]
    assert [VecISA.check_build(Instructions(), "a") for _ in range(3)] == [False, True, True]
    assert done == ["a", "a"]


def test_an_empty_library_of_a_stopped_compiler_is_removed_and_the_trial_repeated(trials, tmp_path):
    answers, done = trials
    empty, whole = tmp_path / "ab" / "trial.so", tmp_path / "ab" / "other.so"
    empty.parent.mkdir()
    empty.touch()
    whole.write_text("code")
    answers += [False, True]
    assert VecISA.check_build(Instructions(), "a")
    assert (empty.exists(), whole.exists(), done) == (False, True, ["a", "a"])
    assert build.folder().parent == tmp_path
