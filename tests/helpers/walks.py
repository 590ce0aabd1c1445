"""Walks over everything: of a test marked `walk(n)`, n cases drawn at random are run, and all of them with SLOW=1.

Of a file marked `sample(n)`, n tests are drawn in the same way, beside those with a mark of their own.
Of a slow test marked `only(n)`, n cases are drawn even with SLOW=1; PLASTICITY_WHOLE=1 runs all of them.

The seed is the day, unless PLASTICITY_DRAW gives one; the header of a test run prints it. If PLASTICITY_MINUTES is set,
tests come in an order drawn from the same seed, and those that have not begun after that time are skipped.
"""

import os
import time
from collections import defaultdict
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest

SEED = os.environ.setdefault("PLASTICITY_DRAW", f"{datetime.now(UTC):%Y%m%d}")
BEGAN = float(os.environ.setdefault("PLASTICITY_TESTS_BEGAN", str(time.time())))
"""Processes of one test run inherit both, so that all draw the same cases also around midnight."""
ALL_TESTS = Path(__file__).parents[1]
MINUTES = float(os.environ.get("PLASTICITY_MINUTES", "inf"))


def pytest_report_header() -> str:
    """How to draw the same cases again."""
    return f"drawn cases: PLASTICITY_DRAW={SEED}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks as `drawn`, before -m selects, all cases of which some are drawn, and the others of them as slow too."""
    if "PLASTICITY_WHOLE" not in os.environ:
        _leave_out_of(items, config)
    walks = defaultdict[tuple[str, int], list[pytest.Item]](list)
    for item in items:
        if item.get_closest_marker("slow"):
            continue
        if walk := item.get_closest_marker("walk"):
            walks[item.nodeid.partition("[")[0], *walk.args].append(item)
        elif sample := item.get_closest_marker("sample"):
            walks[item.nodeid.partition("::")[0], *sample.args].append(item)
    for (_, number), cases in walks.items():
        for place, case in enumerate(sorted(cases, key=_place)):
            case.add_marker(pytest.mark.drawn)
            if place >= number:
                case.add_marker(pytest.mark.slow)
    if MINUTES < float("inf"):
        items.sort(key=_place)
    else:  # the equation's tests take longest: if they began last, one process would wait for the other
        items.sort(key=lambda item: item.path.parent != ALL_TESTS)


def _leave_out_of(items: list[pytest.Item], config: pytest.Config) -> None:
    """Deselects all cases of tests marked `only(n)` except for n drawn ones."""
    cases = defaultdict[tuple[str, int], list[pytest.Item]](list)
    for item in items:
        if only := item.get_closest_marker("only"):
            cases[item.nodeid.partition("[")[0], *only.args].append(item)
    left_out = {case for (_, number), found in cases.items() for case in sorted(found, key=_place)[number:]}
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=list(left_out))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips what has not begun in time."""
    if time.time() > BEGAN + 60 * MINUTES:
        pytest.skip(f"not begun within {MINUTES:g} minutes")


def _place(case: pytest.Item) -> bytes:
    return sha256(f"{SEED} {case.nodeid}".encode()).digest()
