"""Digests of classes from outside the laboratory, and of what they import."""

import sys

import pytest

from plasticity_lab.records.own_classes import digest_of_class, digests_of_classes, file_of_class

FILES = {
    "somebodys/__init__.py": "",
    "somebodys/mine.py": """
        from plasticity_lab.activations.activation import Activation
        from somebodys import slopes
        from .deep.er import constant
        import numpy

        class Mine(Activation):
            def __call__(self, x, site):
                import somebodys.lately as lately
                return slopes.of(x) * lately.factor * constant
        """,
    "somebodys/slopes.py": "def of(x):\n    return x",
    "somebodys/lately.py": "factor = 1",
    "somebodys/deep/__init__.py": "",
    "somebodys/deep/er.py": "constant = 2\nfrom somebodys import mine",
    "somebodys/apart.py": "nobody imports this",
    "site-packages/installed_by_pip.py": "version = 1",
}
TARGET = "somebodys.mine.Mine"


@pytest.fixture
def somebodys(tmp_path, monkeypatch):
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content.replace("\n        ", "\n").lstrip())
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "somebodys"
    forget()


def forget():
    """As a new process knows nothing yet."""
    from plasticity_lab import component

    for name in [name for name in sys.modules if name.partition(".")[0] == "somebodys"]:
        del sys.modules[name]
    component.load.cache_clear()
    digest_of_class.cache_clear()


def digest():
    forget()
    return digest_of_class(TARGET)


@pytest.mark.parametrize("name", ["mine.py", "slopes.py", "lately.py", "deep/er.py", "deep/__init__.py", "__init__.py"])
def test_an_edit_of_its_file_or_of_anything_that_it_imports_is_noticed(somebodys, name):
    before = digest()
    assert digest() == before
    path = somebodys / name
    path.write_text(path.read_text() + "\n# edited\n")
    assert digest() != before


def test_files_that_it_does_not_import_do_not_matter(somebodys):
    before = digest()
    (somebodys / "apart.py").write_text("edited")
    (somebodys / "new.py").write_text("")
    assert digest() == before


def test_classes_of_the_laboratory_have_none(somebodys):
    forget()
    targets = {"activation": TARGET, "network": "plasticity_lab.networks.mlp.MLP"}
    assert digests_of_classes(targets) == {TARGET: digest_of_class(TARGET)}
    assert file_of_class(TARGET) == str(somebodys / "mine.py")


def test_what_is_installed_is_left_out(somebodys, monkeypatch):
    monkeypatch.syspath_prepend(somebodys.parent / "site-packages")
    path = somebodys / "mine.py"
    path.write_text(path.read_text() + "\nimport installed_by_pip\n")
    before = digest()
    (somebodys.parent / "site-packages" / "installed_by_pip.py").write_text("version = 2")
    assert digest() == before
