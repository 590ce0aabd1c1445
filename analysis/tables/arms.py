"""Which runs belong together where bodies come in turn: by selection, then by activation and setting."""

from collections.abc import Mapping, Sequence

from analysis.rows import Row, key, varying
from analysis.tables.selected import words_of

SELECTED_BY = ("protocol", "schedule", "hyperparams", "intervention")


def selections(rows: Sequence[Row]) -> list[tuple[Mapping[str, str], list[Row]]]:
    """What was chosen, by group → the runs of it; another where their settings differ otherwise."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((*(getattr(row, name) for name in SELECTED_BY), key(row.study)), []).append(row)
    return [(dict(zip(SELECTED_BY, names, strict=True)), alike) for (*names, _), alike in sorted(groups.items())]


def arms_of(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Label → runs of one activation at one setting, each once: those of different settings are never averaged."""
    of_activation: dict[str, list[Row]] = {}
    for row in {row.run: row for row in rows}.values():
        of_activation.setdefault(row.activation, []).append(row)
    arms: dict[str, list[Row]] = {}
    for name, runs in of_activation.items():
        differing = varying(row.own for row in runs)
        for row in runs:
            arms.setdefault(f"{name} ({words_of(row.own, differing)})" if differing else name, []).append(row)
    return arms


def flags_of(rows: Sequence[Row]) -> dict[str, int]:
    """What agents say of their runs, as unstable → of how many of these."""
    names = dict.fromkeys(name for row in rows for name, is_so in row.flags.items() if is_so)
    return {name: sum(bool(row.flags.get(name)) for row in rows) for name in names}
