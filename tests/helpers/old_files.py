"""Files of a store as earlier versions wrote them, made of today's."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from plasticity_lab.records.plan import Plan
from plasticity_lab.records.store import Store


def plan_in_format(store: Store, plan: Plan, number: int) -> None:
    """Rewrites a plan with whole runs; before format 3 packs had a label, and neither updates nor unit."""
    path = store.plan(plan.sweep)
    value = json.loads(path.read_text()) | {
        "runs": {name: run.as_json() for name, run in plan.runs.items()},
        "packs": [{**asdict(pack), "width": pack.width} for pack in plan.packs],
    }
    for key in ("code", "packs_alike", "runs_alike", "values"):
        del value[key]
    for pack in value["packs"] if number < 3 else ():
        pack["label"] = pack.pop("family")
        del pack["unit"], pack["updates"]
    if number == 1:
        settings = value["settings"]
        names = ("data", "rerun", "save_weights", "checkpoint_minutes", "tracking")
        value["settings"] = {name: settings[name] for name in names}
        value["settings"] |= {name: settings["launch"][name] for name in ("lease_seconds", "retries")}
    path.write_text(json.dumps(value | {"format": number}))


def record_in_format_1(store: Store, run: str) -> None:
    """Rewrites a record without its classes, measures and list of files."""
    path = store.record(run)
    record = json.loads(path.read_text())
    old = {name: value for name, value in record.items() if name not in ("targets", "measures", "files", "besides")}
    path.write_text(json.dumps(old | {"format": 1}))


def flat(journal: Mapping[str, Any]) -> dict[str, Any]:
    """The state of a classifier's journal, as it was before agents declared what they measure."""
    means = {
        f"{kind}_{name}_{part}": value
        for kind, of in journal["means"].items()
        for name, parts in of.items()
        for part, value in parts.items()
    }
    same = {name: journal[name] for name in ("task", "step", "steps", "epoch", "diverged")}
    return {**same, **means, **journal["events"], "train_loss": journal["last"]["loss"]}
