"""The pages of the Python interface: which objects they show. mkdocstrings reads them without imports."""

import yaml

from docs.generate.conf_files import CONF
from plasticity_lab.outside import PLACES

FOLDER = "reference/python"
RECORDS = {
    "plasticity_lab.records.store": ("Store",),
    "plasticity_lab.records.record": ("all_records", "records_of", "read_record", "outcome_of", "read_metrics"),
    "plasticity_lab.records.weights": ("read_weights", "read_task_weights", "read_statistics", "TaskWeights"),
    "plasticity_lab.records.plan": ("sweeps_of", "read_plan", "Plan"),
    "plasticity_lab.saved_network.loading": ("load_network",),
    "plasticity_lab.saved_network.network": ("SavedNetwork",),
}
ANALYSIS = {
    "analysis": ("load",),
    "analysis.statistics.interval": ("interval", "difference", "Interval"),
    "analysis.statistics.two_groups": ("welch", "hedges"),
    "analysis.statistics.permutation": ("permutation",),
    "analysis.statistics.bootstrap": ("bootstrap",),
    "analysis.statistics.returns": ("normalise", "scored"),
}
SHARED = {
    "plasticity_lab.component": ("Component", "setting", "with_settings", "check"),
    "plasticity_lab.networks.network": ("Unit", "Shapes", "Design"),
    "plasticity_lab.interventions.now": ("Now",),
    "plasticity_lab.diagnostics.view": ("View",),
    "plasticity_lab.records.measures": ("Measure", "Column", "Measures"),
    "plasticity_lab.errors": ("ConfigError", "StoreError"),
}


def pages() -> dict[str, str]:
    """Address below docs/pages → Markdown."""
    groups = yaml.safe_load((CONF / "groups.yaml").read_text(encoding="utf-8"))
    bases = [facts["base"] for facts in groups.values()]
    outside = [f"plasticity_lab.outside.{place}.{name}" for name, place in PLACES.items()]
    return {
        f"{FOLDER}/outside.md": _page(
            "Python: outside the laboratory",
            "For any torch module and any training loop: `from plasticity_lab.outside import measure`. "
            "[How to use it](../../how_to/outside.md).",
            outside,
        ),
        f"{FOLDER}/contracts.md": _page(
            "Python: the contracts",
            "The base class of each group of options, then the classes that their methods get and return. "
            "[How to add an option](../../how_to/index.md).",
            [*bases, *_named(SHARED)],
        ),
        f"{FOLDER}/records.md": _page(
            "Python: records and trained networks",
            "Reading a [store](../store.md), run by run.",
            _named(RECORDS),
        ),
        f"{FOLDER}/analysis.md": _page(
            "Python: analysis",
            "A store as two data frames, and the statistics of tables. [How to use it](../../how_to/analysis.md).",
            _named(ANALYSIS),
        ),
    }


def _named(modules: dict[str, tuple[str, ...]]) -> list[str]:
    return [f"{module}.{name}" for module, names in modules.items() for name in names]


def _page(title: str, about: str, objects: list[str]) -> str:
    return "\n\n".join([f"# {title}", about, *(f"::: {each}" for each in objects)]) + "\n"
