"""What the caption of a column says of settings, kept as published, that make it measure something else."""

from collections.abc import Mapping
from typing import Any

from plasticity_lab.records.cautions import cautions


def cautions_of(study: Mapping[str, Any]) -> tuple[str, ...]:
    """In words that follow the column's name.  study: dotted keys, as rows have it."""

    def of(group: str) -> dict[str, Any]:
        return {name.partition(".")[2]: value for name, value in study.items() if name.startswith(f"{group}.")}

    return tuple(each.caption for each in cautions(of("benchmark"), of("agent")))
