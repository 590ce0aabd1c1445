"""Whether code can be compiled here, found out by doing it."""

import ctypes
import shutil

import pytest

from launch.plan import device as compiling
from launch.plan.device import FOLDER, NO_COMPILER, not_compiled_here
from plasticity_lab.kernels import on_gpu
from tests.helpers.packs import needs_compiler


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """The folder of what is compiled, which is not there yet, and everything as on a machine where it works."""
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv(FOLDER, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    compiling._tried.cache_clear()
    yield tmp_path / "cache"
    compiling._tried.cache_clear()


@needs_compiler
def test_where_it_works_nothing_is_said_and_nothing_is_left(cache):
    assert not_compiled_here() is None
    assert not cache.exists()
    assert list(cache.parent.iterdir()) == []


def test_without_a_compiler(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert not_compiled_here() == NO_COMPILER


@needs_compiler
def test_a_cache_whose_code_may_not_be_run_is_named_with_its_variable(cache, monkeypatch):
    def refuses(path):
        raise OSError(f"{path}: failed to map segment from shared object")

    monkeypatch.setattr(ctypes, "CDLL", refuses)
    lack = not_compiled_here()
    assert str(cache) in lack.sentence
    assert "noexec" in lack.sentence
    assert "XDG_CACHE_HOME=" in lack.sentence
    monkeypatch.setenv(FOLDER, str(cache / "own"))
    assert f"{FOLDER}=" in not_compiled_here().sentence


@needs_compiler
def test_a_cache_that_cannot_be_written_and_a_compiler_that_fails_are_named(monkeypatch, tmp_path):
    file, broken = tmp_path / "file", tmp_path / "c++"
    with monkeypatch.context() as patch:
        file.touch()
        patch.setenv("XDG_CACHE_HOME", str(file))
        assert str(file) in not_compiled_here().sentence
    broken.write_text("#!/bin/sh\necho 'no licence' >&2; exit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CXX", str(broken))
    assert str(broken) in not_compiled_here().sentence
    assert "no licence" in not_compiled_here().sentence


@needs_compiler
def test_for_a_gpu_triton_has_to_compile_too(cache, monkeypatch):
    tried = []
    monkeypatch.setattr(on_gpu, "hindrance", lambda device: tried.append(device) or "no Python.h")
    assert not_compiled_here() is None
    assert not tried
    assert all(words in not_compiled_here("cuda:1").sentence for words in ("Triton", "cuda:1", "no Python.h"))
    monkeypatch.setattr(on_gpu, "hindrance", lambda device: None)
    assert not_compiled_here("cuda:1") is None
