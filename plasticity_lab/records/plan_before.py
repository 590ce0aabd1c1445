"""The packs and runs of plans of formats 1 to 3, which held each of them whole.

In those of formats 1 and 2 a pack's `family` was called its label, and it had neither `updates` nor `unit`, being of
classifiers, whose steps are updates.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from plasticity_lab.records.damage import fault_of_fields
from plasticity_lab.records.plan_lines import PACK_FIELDS
from plasticity_lab.run import Run

_FIELDS = {"packs": list, "runs": dict}
_WHOLE_PACK = {"id": str, "runs": list} | PACK_FIELDS
_WHOLE_RUN = {"id": str, "science": dict, "targets": dict, "asked_as": list}


def packs_in(plan: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The packs of a plan's file, each by the fields of a `Pack`."""
    for pack in map(_as_now, plan["packs"]):
        yield {name: pack[name] for name in _WHOLE_PACK} | {"runs": tuple(pack["runs"])}


def runs_in(plan: Mapping[str, Any]) -> Mapping[str, Run]:
    """The runs of a plan's file."""
    return {name: Run.from_json(run) for name, run in plan["runs"].items()}


def fault_of(plan: Mapping[str, Any]) -> str | None:
    """What is wrong with the packs and runs of a plan's file; None if nothing is."""
    if fault := fault_of_fields(plan, _FIELDS):
        return fault
    for pack in map(_as_now, plan["packs"]):
        if fault := fault_of_fields(pack, _WHOLE_PACK):
            return f"holds a pack that {fault}"
    for run in plan["runs"].values():
        if fault := fault_of_fields(run, _WHOLE_RUN):
            return f"holds a run that {fault}"
    # Not by sets: what is looked up in is much larger than a pack.
    if not all(isinstance(run, str) and run in plan["runs"] for pack in plan["packs"] for run in pack["runs"]):
        return "lacks runs of its packs"
    return None


def _as_now(pack: Any) -> Any:
    """A pack of any format as that of format 3; what is none stays as it is."""
    if not isinstance(pack, Mapping) or "label" not in pack or "steps" not in pack:
        return pack
    return {"family": pack["label"], "unit": "steps", "updates": pack["steps"], **pack}
