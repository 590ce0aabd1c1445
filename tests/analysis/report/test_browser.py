"""The report in a real browser: it is sorted, filtered and read there, and a run is opened."""

import csv
import os
import shutil

import pytest

from analysis.__main__ import main
from plasticity_lab.records.record import write_record
from plasticity_lab.records.searches.batches import Batch, Trial, write_batch
from plasticity_lab.records.store import Store
from tests.helpers.curves import classified, played
from tests.helpers.stores import planned_records

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
HOSTILE = "<script>window.harmed = true</script><img src=x onerror=window.harmed=true>"
"""A script runs where a page is read, a picture's handler also where it is put in later."""
FORMULA = '=HYPERLINK("https://harm.example","relu")'
"""Spreadsheets calculate it."""

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine (apt-get install chromium)"),
    pytest.mark.sample(3),
]
playwright = pytest.importorskip("playwright.sync_api", reason="the extra dev is not installed")


@pytest.fixture
def report(tmp_path, record):
    """The report of a store that is still running: classifiers, an agent with episodes, a run that diverged, and names
    that a page must not take for its own."""
    store = Store(tmp_path / "store")
    records = []
    for seed in range(2):
        for name, accuracy in (("relu", 0.5), ("tanh", 0.7), (HOSTILE, 0.6), (FORMULA, 0.3)):
            records.append(classified(store, record(name, seed=seed), [accuracy + seed / 100, *[0.4] * 10]))
    records.append(played(store, record(seed=7, science={"agent": {"name": "player"}}), 0))
    records.append(record("gelu", status="diverged", provenance={"host": HOSTILE}))
    write_record(store, records[-1])
    waiting = record("selu", seed=3)
    planned_records(store, [*records, waiting], [waiting])
    searched(store, [each for each in records if each["status"] == "done"])
    path = tmp_path / "report.html"
    assert main(["report", "--store", str(store.root), "--out", str(path)]) == 0
    return path


def searched(store, records):
    """A search of which these runs are the trials."""
    about = {"name": HOSTILE, "metric": "taoa", "better": "more", "space": {HOSTILE: [HOSTILE, "other"]}}
    trials = [Trial(0, {HOSTILE: [HOSTILE, "other"][number % 2]}, [each["run"]]) for number, each in enumerate(records)]
    write_batch(store, "abcdef012345", 0, Batch(trials, len(trials), {"studies": [about]}))


@pytest.fixture
def page(report):
    """The open page. Afterwards: it asked nothing of a network, nothing went wrong, no name became a part of it."""
    asked, wrong = [], []
    with playwright.sync_playwright() as started:
        environment = {**os.environ, "HOME": str(report.parent)}
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], env=environment)
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_default_timeout(60_000)
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(report.as_uri())
        page.wait_for_selector("body[data-ready]")
        yield page
        assert page.evaluate("window.harmed") is None
        browser.close()
    assert [url for url in asked if not url.startswith(("file:", "blob:", "data:"))] == []
    assert wrong == []


def classifiers(page):
    """Their section of the figures, opened and in view: figures are drawn when they are seen."""
    section = page.locator("#figures details.part").nth(-2)  # the last one is that of a search
    section.evaluate("(part) => { part.open = true; part.scrollIntoView(); }")
    return section


def test_a_reader_sorts_filters_reads_and_opens_a_run(page):
    expect = playwright.expect  # waits: the page sorts and filters after the event, not in it
    expect.set_options(timeout=60_000)
    assert page.locator(".counts").inner_text().split("\n") == ["11 runs", "9 done", "1 diverged", "1 waiting"]
    classifiers(page).locator(".js-plotly-plot .scatterlayer .point").first.wait_for()

    table = page.locator("#tables .dt-container").first
    names = table.locator("tbody tr > :first-child")
    heading = table.locator("thead th").nth(1)
    heading.dispatch_event("click")  # by the mouse it may miss: while figures are drawn on a slow machine, things move
    expect(names).to_have_text(["GeLU", "SeLU", FORMULA, "ReLU", HOSTILE, "Tanh"])
    heading.dispatch_event("click")
    expect(names.first).to_have_text("Tanh")
    assert names.all_inner_texts()[:3] == ["Tanh", HOSTILE, "ReLU"]
    table.get_by_role("searchbox").fill("relu")
    expect(names).to_have_text(["ReLU", FORMULA])
    assert table.locator("tbody tr").first.inner_text().split("\t")[:2] == ["ReLU", "40.95 ± 0.06"]

    runs = page.locator("#runs .dt-container")
    lines = runs.locator("tbody tr")
    assert lines.count() == 11
    runs.locator("thead tr").nth(1).locator("input").nth(1).fill("diverged")
    expect(lines).to_have_count(1)
    assert lines.first.locator("td").nth(1).inner_text() == "diverged at step 7"
    lines.first.dispatch_event("click")
    dialog = page.locator("#run")
    expect(dialog).to_contain_text(HOSTILE)  # as words
    page.keyboard.press("Escape")
    runs.locator("thead tr").nth(1).locator("input").nth(1).fill("")
    expect(lines).to_have_count(11)

    runs.get_by_role("searchbox").first.fill("tanh")
    expect(lines).to_have_count(2)
    lines.first.dispatch_event("click")
    dialog.locator(".js-plotly-plot .scatterlayer .point").first.wait_for()
    assert dialog.locator(".js-plotly-plot").count() == 2, "online and final accuracy"
    assert "python -m plasticity_lab.main activation=tanh benchmark=permuted_digits" in dialog.inner_text()
    assert "#run=" in page.url


def test_runs_that_a_filter_leaves_are_drawn_over_each_other_and_have_an_address(page):
    runs, together = page.locator("#runs .dt-container"), page.locator("#together")
    runs.get_by_role("searchbox").first.fill("tanh")
    playwright.expect(runs.locator("tbody tr")).to_have_count(2)
    page.locator("#draw-together").dispatch_event("click")
    together.locator(".scatterlayer .point").first.wait_for()
    assert together.locator(".js-plotly-plot").count() == 2, "online and final accuracy"
    assert together.locator(".js-plotly-plot").first.locator(".legendtext").all_text_contents() == ["seed=0", "seed=1"]
    assert "#together=" in page.url
    page.reload()
    page.wait_for_selector("body[data-ready]")
    together.locator(".scatterlayer .point").first.wait_for()
    page.locator("#runs .dt-container").get_by_role("searchbox").first.fill("")
    page.locator("#draw-together").dispatch_event("click")
    names = together.locator(".js-plotly-plot").first.locator(".legendtext")
    playwright.expect(names).to_have_count(8)  # of the classifiers
    assert f"{HOSTILE} · seed=1" in names.all_text_contents()
    page.locator("#runs .dt-container").get_by_role("searchbox").first.fill("selu")
    page.locator("#draw-together").dispatch_event("click")
    playwright.expect(page.locator("#together-said")).to_contain_text("None of these runs has a curve")


def test_the_runs_that_a_filter_leaves_are_saved_in_the_order_that_was_asked_for(page):
    page.locator("#runs .dt-container").get_by_role("searchbox").first.fill("permuted_digits")
    with page.expect_download() as saved:
        page.locator("#save-runs").dispatch_event("click")
    heading, *lines = list(csv.reader(saved.value.path().read_text().splitlines()))
    names = [(line[heading.index("activation")], line[heading.index("seed")]) for line in lines]
    in_order = [name.removeprefix("'") for name, _ in names]  # the apostrophe is the file's guard
    assert in_order == sorted(in_order)
    for name in ("relu", "tanh"):
        assert names.index((name, "1")) == names.index((name, "0")) + 1
    assert (f"'{FORMULA}", "0") in names
    assert not any(cell.startswith("=") for line in lines for cell in line)
