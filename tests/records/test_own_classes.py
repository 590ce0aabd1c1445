"""Digests of classes from outside the laboratory, and of what they import."""

import sys

import pytest

from plasticity_lab.records.own_classes import digest_of_class, digests_of_classes, file_of_class, same_code

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


LOADING = {
    "importlib": ("import importlib\nname = 'lat' + 'ely'\nimportlib.import_module('somebodys.' + name)", "apart.py"),
    "a relative name": ("from importlib import import_module\nimport_module('.apart', __package__)", "apart.py"),
    "exec": ("from pathlib import Path\nexec((Path(__file__).parent / 'apart.py').read_text())", "apart.py"),
    "runpy": ("def later():\n    import runpy as r\n    r.run_path('parts/' + 'one.py')", "parts/one.py"),
    "a string": ("import importlib\nWHICH = 'elsewhere'\nimportlib.import_module(WHICH)", "../elsewhere.py"),
    "what that imports": ("import importlib\nimportlib.import_module('elsewhere')", "../further.py"),
    "a path": (
        "h = '../elsewhere.py'\nimport pathlib\nexec((pathlib.Path(__file__).parent / h).read_text())",
        "../elsewhere.py",
    ),
    "a component": ("from plasticity_lab.component import load\nload", "apart.py"),
    "sys.path": ("import sys\nsys.path.append(__file__[:-7] + 'parts')\nimport one", "parts/one.py"),
}


@pytest.fixture
def loading(somebodys):
    """Files that a class may load in other ways than by an import; writes into its file how it does."""
    for name in ("apart.py", "parts/one.py", "../elsewhere.py", "../further.py"):
        (somebodys / name).parent.mkdir(exist_ok=True)
        (somebodys / name).write_text("from further import factor" if name == "../elsewhere.py" else "factor = 1")

    def write(how):
        with (somebodys / "mine.py").open("a") as file:
            file.write(f"\n{how}\n")

    yield write
    sys.path[:] = [path for path in sys.path if not path.endswith("parts")]
    for name in ("one", "elsewhere", "further"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("how", LOADING)
def test_an_edit_of_code_that_is_loaded_in_another_way_is_noticed(somebodys, loading, how):
    code, name = LOADING[how]
    loading(code)
    before = digest()
    assert digest() == before
    (somebodys / name).write_text("factor = 2")
    assert digest() != before


def test_environments_and_hidden_folders_around_a_class_do_not_matter(somebodys, loading):
    loading("exec('')")
    before = digest()
    for name in ("env/pyvenv.cfg", "env/lib/any.py", ".git/hook.py", "a/b/c/too_deep.py", "notes.txt"):
        (somebodys / name).parent.mkdir(parents=True, exist_ok=True)
        (somebodys / name).write_text("1")
    assert digest() == before


def test_a_digest_of_an_earlier_version_is_held_against_what_it_knew(somebodys, loading):
    loading("exec('')")
    now = digest()
    earlier, _, loaded = now.partition("+")
    assert len(earlier) == len(loaded) == 12
    assert same_code(earlier, now)
    (somebodys / "apart.py").write_text("edited")
    assert same_code(earlier, digest()), "that version did not look there"
    assert not same_code(now, digest())
    (somebodys / "slopes.py").write_text("edited = True")
    assert not same_code(earlier, digest())
    assert not same_code(None, now)
