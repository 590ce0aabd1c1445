"""A library that a stopped compiler has left half-written is made again."""

import pytest
import torch

from plasticity_lab.agents import torch_compiler

X = (torch.ones(3),)


def failing(monkeypatch, *errors):
    """Makes the next compilations fail with these errors, until none is left."""
    left = list(errors)

    def compiled(function, arguments, options):
        if left:
            raise left.pop(0)
        return function

    monkeypatch.setattr(torch_compiler, "_by_dynamo", compiled)
    monkeypatch.setattr(torch_compiler, "_options", lambda arguments: {})


def broken(path):
    error = RuntimeError("backend='inductor' raised")
    error.__cause__ = ImportError(f"{path}: file too short")
    return error


def test_it_is_removed_and_compiled_again(monkeypatch, tmp_path):
    libraries = [tmp_path / name for name in ("a.so", "b.so")]
    for library in libraries:
        library.touch()
    failing(monkeypatch, *map(broken, libraries))
    assert torch_compiler.compiled(torch.sin, X) is torch.sin
    assert not list(tmp_path.iterdir())


def test_a_library_that_stays_broken_and_any_other_error_are_raised(monkeypatch, tmp_path):
    library = tmp_path / "a.so"
    failing(monkeypatch, broken(library), broken(library), broken(library))
    with pytest.raises(RuntimeError, match="inductor"):
        torch_compiler.compiled(torch.sin, X)
    failing(monkeypatch, ValueError("another"))
    with pytest.raises(ValueError, match="another"):
        torch_compiler.compiled(torch.sin, X)
