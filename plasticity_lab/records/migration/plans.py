"""Plans of formats 1 to 3, which held each pack and each run whole, and not by which code they were made.

In those of formats 1 and 2 a pack's `family` was called its label, and it had neither `updates` nor `unit`, being of
classifiers, whose steps are updates. Those of format 1 held only some of the settings.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from plasticity_lab.records.damage import DamagedFile, fault_of_fields, read_mapping, rename_aside
from plasticity_lab.records.files import disk_errors
from plasticity_lab.records.migration.changed import Changed
from plasticity_lab.records.old_format import OldFormat
from plasticity_lab.records.plan import ADVICE, OtherFormat, Pack, Plan, read_plan, settings_of, sweeps_of, write_plan
from plasticity_lab.records.plan_lines import PACK_FIELDS
from plasticity_lab.records.store import Store
from plasticity_lab.run import Run

_FIELDS = {"sweep": str, "command": list, "settings": dict, "asked": list, "packs": list, "runs": dict}
_WHOLE_PACK = {"id": str, "runs": list} | PACK_FIELDS
_WHOLE_RUN = {"id": str, "science": dict, "targets": dict, "asked_as": list}


def migrate_plans(store: Store, changed: Changed, dry_run: bool) -> None:
    """Rewrites the plans that an earlier version wrote; a damaged one of an old format is set aside.

    Raises StoreError.
    """
    for sweep in sweeps_of(store):
        try:
            read_plan(store, sweep)
        except (DamagedFile, OtherFormat) as error:
            changed.unreadable.append(str(error))
        except OldFormat:
            changed.old["plan"] += _migrated(store, sweep, changed, dry_run)
        else:
            changed.today["plan"] += 1


def _migrated(store: Store, sweep: str, changed: Changed, dry_run: bool) -> bool:
    """Whether a plan of an old format could be rewritten."""
    path = store.plan(sweep)
    try:
        plan = _plan_in(store, sweep)
    except DamagedFile as error:
        # As the sweep's command does with a damaged plan; left there, it would make every command ask for a migration.
        aside = "" if dry_run else f" It is {rename_aside(path).name} now."
        changed.unreadable.append(f"{error}{aside}")
        return False
    if not dry_run:
        with disk_errors("read", path):
            planned_at = path.stat().st_mtime_ns
        write_plan(store, plan, planned_at)
    return True


def _plan_in(store: Store, sweep: str) -> Plan:
    """The plan of a sweep in an old format, packs that were divided since whole.  Raises DamagedFile."""
    path = store.plan(sweep)
    value = read_mapping(path, ADVICE) or {}
    fault = _fault_of(value) or (None if value["sweep"] == sweep else "is the plan of another sweep")
    if fault:
        raise DamagedFile(path, fault, ADVICE)
    return Plan(
        sweep=sweep,
        command=value["command"],
        asked=value["asked"],
        runs={name: Run.from_json(run) for name, run in value["runs"].items()},
        packs=[Pack(**pack) for pack in _packs_in(value)],
        settings=settings_of(_settings_in(value, path, store), path),
    )


def _packs_in(plan: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The packs of a plan's file, each by the fields of a `Pack`."""
    for pack in map(_as_format_3, plan["packs"]):
        yield {name: pack[name] for name in _WHOLE_PACK} | {"runs": tuple(pack["runs"])}


def _settings_in(value: Mapping[str, Any], path: Path, store: Store) -> Mapping[str, Any]:
    """The settings that a plan stands for: those of format 1 held what workers read, and not yet where they should run.

    Raises DamagedFile.
    """
    if value["format"] > 1:
        return value["settings"]
    try:
        return _of_first_plans(value["settings"], store.root)
    except KeyError as error:
        raise DamagedFile(path, f"lacks the setting {error.args[0]}", ADVICE) from error


def _of_first_plans(values: Mapping[str, Any], store: Path) -> dict[str, Any]:
    return {
        "store": store,
        "data": values["data"],
        "device": "auto",
        "mode": "auto",
        "dry_run": False,
        "rerun": values.get("rerun", False),
        "save_weights": values["save_weights"],
        "checkpoint_minutes": values["checkpoint_minutes"],
        "launch": {
            "workers": None,
            "wait": False,
            "lease_seconds": values["lease_seconds"],
            # The first plans of all set no limit.
            "retries": values.get("retries", 1_000_000),
        },
        "tracking": values.get("tracking") or {"backend": "store", "project": "", "entity": None, "live_runs": 0},
    }


def _fault_of(plan: Mapping[str, Any]) -> str | None:
    """What is wrong with a plan's file; None if nothing is."""
    if fault := fault_of_fields(plan, _FIELDS):
        return fault
    for pack in map(_as_format_3, plan["packs"]):
        if fault := fault_of_fields(pack, _WHOLE_PACK):
            return f"holds a pack that {fault}"
    for run in plan["runs"].values():
        if fault := fault_of_fields(run, _WHOLE_RUN):
            return f"holds a run that {fault}"
    if not all(isinstance(run, str) for run in plan["asked"]):
        return "lacks runs that its command named"
    # Not by sets: what is looked up in is much larger than a pack.
    if not all(isinstance(run, str) and run in plan["runs"] for pack in plan["packs"] for run in pack["runs"]):
        return "lacks runs of its packs"
    return None


def _as_format_3(pack: Any) -> Any:
    """A pack of any format as that of format 3; what is none stays as it is."""
    if not isinstance(pack, Mapping) or "label" not in pack or "steps" not in pack:
        return pack
    return {"family": pack["label"], "unit": "steps", "updates": pack["steps"], **pack}
