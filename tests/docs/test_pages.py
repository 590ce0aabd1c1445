"""What README.md and docs/ show can be done: their commands resolve, their links and paths lead somewhere."""

import argparse
import importlib.util
import re
import runpy
import sys
import warnings
from pathlib import Path

import pytest
import yaml

from analysis.figures.named import named as figure_named
from analysis.origin import ENDING
from analysis.tables import named as table_named
from analysis.tables.command import ALL
from launch.command import resolve
from launch.command_line import taken_apart
from plasticity_lab.records.store import Store
from tests.docs.pages import IDEAS, LINK, PAGES, PAGES_FOLDER, ROOT, commands_of, fences, files_of, named, spans
from tests.helpers.stores import left_behind
from tests.helpers.sweeps import trained

COMMANDS = list(dict.fromkeys(command for page in PAGES for command in commands_of(page)))
TRAINING = [command for command in COMMANDS if command.module == "plasticity_lab.main"]
TARGETS = [command for command in COMMANDS if command.module is None]
AROUND = [command for command in COMMANDS if command not in TRAINING + TARGETS]
FOLDERS = ("plasticity_lab", "launch", "analysis", "conf", "tests", "docs")
PATH = re.compile(rf"(?:{'|'.join(FOLDERS)})/[\w./-]*")


class Parsed(BaseException):
    """A module has read its command line, and shall do nothing more."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        self.options = options


@pytest.fixture(scope="module", autouse=True)
def surroundings(tmp_path_factory):
    """What the commands need to be read: a store to select from, and the recipes' files."""
    folder = tmp_path_factory.mktemp("pages")
    for page in PAGES:
        for name, content in files_of(page).items():
            path = folder / "ideas" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLASTICITY_STORE", str(folder / "store"))
        patch.setenv("WANDB_API_KEY", "0" * 40)
        patch.syspath_prepend(folder / "ideas")
        left_behind(folder / "store", ["activation=relu"], lambda run: 0.5)
        yield folder


def resolves(words: list[str]) -> None:
    """Raises if the laboratory's command would refuse the words.  Long sweeps are tried with two seeds."""
    line = taken_apart(words)
    if line.shown in (None, "cfg"):
        assert resolve([re.sub(r"=range\(0,\d+\)$", "=range(0,2)", word) for word in line.words]).runs


def _stops(read):
    """The method of a parser, which raises what it has read."""

    def stopping(*arguments, **options):
        raise Parsed(read(*arguments, **options))

    return stopping


def parsed(module: str, words: list[str], monkeypatch) -> argparse.Namespace | None:
    """What a module's own parser makes of the words; None of a module that has none, which is not run then."""
    found = importlib.util.find_spec(module)
    if found is not None and found.submodule_search_locations is not None:
        found = importlib.util.find_spec(f"{module}.__main__")
    assert found is not None, f"there is no module {module}"
    if "ArgumentParser" not in Path(found.origin).read_text():
        return None
    for name in ("parse_args", "parse_intermixed_args"):
        monkeypatch.setattr(argparse.ArgumentParser, name, _stops(getattr(argparse.ArgumentParser, name)))
    monkeypatch.setattr(sys, "argv", [module, *words])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # runpy, of a module that another test has imported
        try:
            runpy.run_module(module, run_name="__main__")
        except Parsed as read:
            return read.options
    raise AssertionError(f"{module} did not read its command line")


def test_there_are_commands():
    """Or a change of the pages' form would hide them from these tests."""
    assert {command.module for command in COMMANDS} >= {None, "plasticity_lab.main", "launch", "analysis"}
    assert len(COMMANDS) > 60


@pytest.mark.walk(10)
@pytest.mark.parametrize("command", TRAINING, ids=str)
def test_a_command_that_trains_names_runs(command, surroundings):
    resolves([word.replace(IDEAS, str(surroundings / "ideas")) for word in command.words])


@pytest.mark.walk(40)
@pytest.mark.parametrize("command", AROUND, ids=str)
def test_a_command_around_sweeps_is_read_by_its_own_parser(command, monkeypatch):
    options = parsed(command.module, list(command.words), monkeypatch)
    if command.module == "launch" and command.words[0] in ("doctor", "calibrate"):
        resolves(options.words)
    named_by_a_recipe = command.words[1:2] in (("duration",), ("last_tenth",))  # its own test draws them
    if command.module == "analysis" and command.words[0] in ("table", "figure") and not named_by_a_recipe:
        if command.words[0] == "figure":
            assert options.name.endswith(ENDING) or figure_named(options.name)
        elif options.name not in (None, ALL):
            assert table_named(options.name)
        assert all(path.exists() for path in options.store or [] if path.suffix == ".json")


@pytest.mark.parametrize("command", TARGETS, ids=str)
def test_a_target_of_make_exists(command):
    makefile = (ROOT / "Makefile").read_text()
    settings = makefile + (ROOT / "launch/cluster/settings.sh").read_text()
    for word in command.words:
        name, assigned, _ = word.partition("=")
        if assigned:
            assert re.search(rf"\$[({{]{name}\b", settings), f"nobody reads {name}"
        else:
            assert re.search(rf"^{name}:", makefile, re.MULTILINE), f"make has no target {name}"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_what_a_page_links_or_names_is_there(page):
    text = page.read_text()
    for link in LINK.findall(text):
        if not link.startswith(("http://", "https://")):
            path, _, heading = link.partition("#")
            target = (page.parent / path) if path else page
            assert target.exists(), f"{link} leads nowhere"
            assert not heading or heading in anchors(target), f"{link}: no such heading"
    for span in spans(text):
        if PATH.fullmatch(span):
            assert (ROOT / span).exists(), f"{span} is not there"


def anchors(page: Path) -> list[str]:
    """The headings of a page as links name them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


def test_the_readme_is_short_enough_to_be_read():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_every_page_can_be_reached_from_the_readme():
    found, left = set(), [ROOT / "README.md", ROOT / "docs/README.md"]  # where readers on GitHub begin
    while left:
        page = left.pop()
        found.add(page)
        links = [(page.parent / link.partition("#")[0]).resolve() for link in LINK.findall(page.read_text())]
        left += [link for link in links if link.suffix == ".md" and link.exists() and link not in found]
    assert set(PAGES) <= found


@pytest.mark.parametrize("kind", ["tutorials", "how_to", "reference", "explanation", "reproduction"])
def test_the_index_of_a_kind_links_every_page_of_its_folder(kind):
    index = PAGES_FOLDER / kind / "index.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(index.read_text())}
    assert not set(index.parent.rglob("*.md")) - {index} - linked
    assert f"]({kind}/index.md)" in (PAGES_FOLDER / "index.md").read_text()


@pytest.mark.parametrize("page", sorted((PAGES_FOLDER / "explanation").glob("*.md")), ids=lambda page: page.stem)
def test_an_explanation_is_short_enough_to_be_read(page):
    assert len(page.read_text().split()) <= 1500, "more belongs to the reference"


def test_the_python_of_the_store_page_runs(tmp_path, monkeypatch):
    trained(Store(tmp_path / "store"), "save_weights=final")
    monkeypatch.chdir(tmp_path)
    page = PAGES_FOLDER / "reference/store.md"
    blocks = [content for language, content in fences(page.read_text()) if language == "python"]
    assert len(blocks) == 2
    for block in blocks:
        names: dict = {}
        exec(compile(block, str(page), "exec"), names)
    assert (names["logits"].shape, names["units"]["hidden1"].shape) == ((5, 10), (5, 100))
    assert names["weights"].shape == (1, 64, 100)
    assert sorted(names["order"]) == list(range(64))


def test_the_python_of_the_page_about_ppo_plays_a_trained_policy(tmp_path, monkeypatch):
    words = ("benchmark=classic_cycle", "agent=ppo_cleanrl", "benchmark.environment_steps=64", "benchmark.tasks=1")
    words = (*words, "agent.rollout=64", "agent.minibatches=2", "agent.epochs=1", "network.width=16")
    trained(Store(tmp_path / "store"), *words, "save_weights=final")
    monkeypatch.chdir(tmp_path)
    page = PAGES_FOLDER / "reference/agents/ppo.md"
    blocks = [each for language, each in fences(page.read_text()) if language == "python"]
    names: dict = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)
    assert (names["actions"].shape, names["returns"].shape, names["outputs"]["value"].shape) == ((1,), (5,), (1, 1))
    assert set(names["statistics"]) == {"cartpole"}


def test_the_hooks_check_what_make_lint_checks():
    lint = (ROOT / "Makefile").read_text().partition("\nlint:")[2]
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [repository["repo"] for repository in hooks] == ["local"], "ruff of another version"
    entries = [hook["entry"] for repository in hooks for hook in repository["hooks"]]
    checked = [line.strip().removesuffix(" .") for line in lint.splitlines() if line.startswith("\t")]
    assert [entry.replace(" --force-exclude", "") for entry in entries] == checked
