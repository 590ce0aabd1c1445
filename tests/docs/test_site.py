"""The manual as a site: it builds without a warning, its reference is what conf/ holds, and it needs no network."""

import fcntl
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

from analysis.__main__ import COMMANDS as ANALYSIS
from plasticity_lab.component import load, parameters
from plasticity_lab.outside import PLACES
from tests.docs.pages import ROOT
from tests.helpers.preset_sources import WITHOUT_EFFECT

pytest.importorskip("mkdocs")

CONF = ROOT / "conf"
WITHOUT_SOURCE = (ROOT / "tests/conf/sources/without_source.csv").read_text(encoding="utf-8")
GROUPS = sorted(
    {path.parent.relative_to(CONF).as_posix() for path in CONF.rglob("*.yaml")} - {".", "experiment/shared"}
)


class Reader(HTMLParser):
    """The headings of a page with the rows of the tables below each, and the addresses that a browser would fetch."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.rows: dict[str, list[list[str]]] = {}
        self.fetched: list[str] = []
        self._heading, self._cell = "", None
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag == "h2" and found.get("id"):
            self._heading = found["id"]
            self.rows[self._heading] = []
        if tag == "tr" and self._heading:
            self.rows[self._heading].append([])
        if tag == "td" and self._heading:
            self.rows[self._heading][-1].append("")
            self._cell = self.rows[self._heading][-1]
        if tag in ("script", "img", "iframe") or (tag == "link" and found.get("rel") != "canonical"):
            self.fetched.append(found.get("src") or found.get("href") or "")

    def handle_endtag(self, tag):
        if tag == "td":
            self._cell = None

    def handle_data(self, data):
        if self._cell is not None:
            self._cell[-1] += data


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site, one for all workers of pytest.

    A link or an anchor that leads nowhere is a warning, and `--strict` makes each one an error.
    """
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    folder = shared / "site"
    with (shared / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            built = _build(shared / "site_in_work")
            assert built.returncode == 0, built.stderr
            assert "WARNING" not in built.stderr
            (shared / "site_in_work").rename(folder)
    return folder


def _build(folder):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", "docs/mkdocs.yml", "-d", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize("group", GROUPS)
def test_the_page_of_a_group_has_its_options_and_settings_and_no_others(group, site):
    rows = Reader(site / f"reference/options/{Path(group).name}.html").rows
    files = {
        path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) or {} for path in (CONF / group).glob("*.yaml")
    }
    assert set(rows) == set(files)
    if group == "experiment":  # these pages show the files as they are
        return
    for name, content in files.items():
        shown = {row[0]: row for row in rows[name] if row}
        target = content.pop("_target_", None)
        settings = set(parameters(load(target))) if target else set()
        assert set(shown) == settings | set(content), name
        if group in ("agent", "benchmark") and f"\n{group}/{name}," not in WITHOUT_SOURCE:
            cited = [row[5] for row in rows[name] if len(row) == 6]
            assert sum(map(bool, cited)) >= len(settings & set(content)) - len(WITHOUT_EFFECT), f"{name} lacks sources"
        for key in settings:
            _, kind, default, _, meaning = shown[key][:5]
            assert kind, f"{name}.{key} has no type"
            assert meaning, f"{name}.{key} has no meaning: write a comment beside it in conf/{group}/{name}.yaml"
            if isinstance(content.get(key), bool | int | float):
                assert type(content[key])(yaml.safe_load(default)) == content[key], key


def test_the_settings_of_every_command_are_all_there(site):
    text = (site / "reference/options/settings.html").read_text(encoding="utf-8")
    config = yaml.safe_load((CONF / "config.yaml").read_text(encoding="utf-8"))
    names = [key for key, value in config.items() if not isinstance(value, dict | list)]
    assert [
        name for name in [*names, *(f"launch.{key}" for key in config["launch"])] if f"<code>{name}</code>" not in text
    ] == []
    assert "<td></td>\n</tr>" not in text, "a setting without a meaning"


def test_the_page_of_columns_has_every_number_that_a_class_declares(site):
    text = (site / "reference/columns.html").read_text(encoding="utf-8")
    measures = [load(option["_target_"]).measures for option in _options("agent") if "_target_" in option]
    names = {column.name for each in measures for column in each.columns}
    names |= {measure.name for each in measures for measure in each.summaries} | {"parameters", "seconds"}
    names |= {column.name for option in _options("intervention") for column in load(option["_target_"]).columns}
    assert len(names) > 50
    assert [name for name in names if f"<code>{name}</code>" not in text] == []
    for option in (CONF / "diagnostics").glob("*.yaml"):  # sets have no columns of their own
        alone = "_target_" in option.read_text(encoding="utf-8") and option.stem != "none"
        assert (f'href="options/diagnostics.html#{option.stem}"' in text) == alone


def test_the_page_of_commands_has_every_flag(site):
    """Flags are read from the source; names of commands are the modules of launch/commands and of `analysis --help`."""
    page = site / "reference/commands.html"
    sections = Reader(page).rows
    names = [f"launch-{path.stem}" for path in (ROOT / "launch/commands").glob("[a-z]*.py")]
    names += [f"analysis-{name}" for name in ANALYSIS]
    assert [name for name in names if name not in sections] == []
    for path in (ROOT / "launch/commands").glob("[a-z]*.py"):
        flags = re.findall(r"add_argument\(\s*\"(--[a-z-]+)", path.read_text(encoding="utf-8"))
        shown = " ".join(row[0] for row in sections[f"launch-{path.stem}"] if row)
        assert [flag for flag in flags if not re.search(rf"{flag}(?![a-z-])", shown)] == [], path.stem


def test_the_python_pages_have_the_public_interface(site):
    text = "".join(path.read_text(encoding="utf-8") for path in (site / "reference/python").glob("*.html"))
    bases = [group["base"] for group in yaml.safe_load((CONF / "groups.yaml").read_text(encoding="utf-8")).values()]
    outside = [f"plasticity_lab.outside.{place}.{name}" for name, place in PLACES.items()]
    assert [name for name in [*bases, *outside, "analysis.load"] if f'id="{name}"' not in text] == []


def _options(group):
    return [yaml.safe_load(path.read_text(encoding="utf-8")) or {} for path in (CONF / group).glob("*.yaml")]


def test_a_reader_without_a_network_misses_nothing(site):
    """Fonts, scripts, styles and pictures are files of the site."""
    pages = list(site.rglob("*.html"))
    assert len(pages) > 100
    for page in pages:
        elsewhere = [each for each in Reader(page).fetched if each.startswith(("http:", "https:", "//"))]
        assert elsewhere == [], page
    styles = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]
    assert styles
    assert not [style for style in styles if "@import" in style or "url(http" in style]


def test_no_table_has_fallen_apart(site):
    """A row after an empty line is a paragraph."""
    assert [page for page in site.rglob("*.html") if "<p>|" in page.read_text(encoding="utf-8")] == []


def test_old_addresses_lead_to_the_new_ones(site):
    for old, new in {
        "house": "explanation/house",
        "recipes/agent": "how_to/add/agent",
        "store": "reference/store",
    }.items():
        page = (site / f"{old}.html").read_text(encoding="utf-8")
        target = page.partition("url=")[2].partition('"')[0]
        assert (site / f"{old}.html").parent.joinpath(target).resolve() == (site / f"{new}.html").resolve()
        assert (site / old / "index.html").is_file()
