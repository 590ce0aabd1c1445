"""`table selected`: the best settings in a store, and the selection bias in their means."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from analysis.names import NAMES, display
from analysis.rows import Row
from analysis.setting_words import short_words
from analysis.tables.listing import NOTHING, Listing, fields, signed, with_sd
from analysis.tables.missing import TRAINING
from analysis.tables.result import chosen_words
from analysis.tables.selection import Found, Selected, provenance, selections_by
from analysis.tables.table import Table, compared

_HEADER = ("activation", "benchmark", "best setting", "chosen on all seeds", "chosen on half", "bias", "agreement")


def build(table: Table[Found], rows: Sequence[Row], metric_name: str | None) -> list[Found]:
    """One content for each protocol, schedule, intervention and metric."""
    return selections_by(rows, metric_name, lambda selected: (selected.measure.name, *_chosen(selected).values()))


def _chosen(selected: Selected) -> Mapping[str, str]:
    return {choice: name for choice, name in selected.selection.items() if choice != "benchmark"}


def render(table: Table[Found], content: Found) -> Listing:
    """One line for each activation on each benchmark."""
    found, _ = content
    if not found:
        return Listing(table.name, table.title, _HEADER, [], [], is_ours=False)
    measure = found[0].measure
    body = []
    for selected in found:
        bias = selected.bias
        body.append(
            [
                display(NAMES["activation"], selected.activation),
                selected.name,
                f"{short_words(selected.own, selected.varied) or NOTHING} (of {selected.settings:,})",
                with_sd(selected.measure.number, selected.ours.mean, selected.ours.sd),
                NOTHING if bias.honest is None else measure.number(bias.honest),
                NOTHING if bias.bias is None else signed(bias.bias, measure.places),
                NOTHING if bias.agreement is None else f"{bias.agreement:.0%}",
            ]
        )
    return Listing(
        name=table.name,
        title=f"{table.title}: {measure.title}{chosen_words(_chosen(found[0]))}",
        header=_HEADER,
        body=body,
        lines=[_line(table, selected) for selected in found],
        right=frozenset({4, 5, 6}),
    )


def caption(table: Table[Found], content: Found) -> list[str]:
    """How the settings were chosen, with the selection bias; or how to train a search, or why no setting was chosen."""
    found, lost = content
    if not found:
        line = (
            "No activation here has two settings to choose between, on the same seeds; a search trains some, as "
            f"`{TRAINING} 'activation=glob(*)' hyperparams=grid seed=0,1,2,3,4`."
        )
        return [*lost] or [line]
    measure = found[0].measure
    seeds = sorted({selected.bias.seeds for selected in found})
    unit = f" ({measure.unit})" if measure.unit else ""
    biases = [selected.bias.bias for selected in found if selected.bias.bias is not None]
    lines = [
        f"{measure.title}{unit}, mean ± SD over {' or '.join(map(str, seeds))} seeds, of the setting with the best "
        "mean on them; in brackets how many settings were compared.",
        "Chosen on half: the setting is chosen on half of the seeds and reported on the other half, as a mean over all "
        "such halves. Bias: by how much choosing and reporting on the same seeds flatters. Agreement: how many of the "
        "halves choose the same setting as all seeds do.",
    ]
    if biases:
        lines.append(
            f"Selection bias, mean over {len(biases)} selections: {signed(fmean(biases), measure.places)}{unit}; "
            f"the greatest {signed(max(biases), measure.places)}."
        )
    lines += _left_out(found)
    lines += provenance(found)
    lines.append("Reported on seeds that took no part: hyperparams=selected and other seeds, in the search's command.")
    return [*lines, *lost]


def _left_out(found: Sequence[Selected]) -> list[str]:
    """The settings and runs that were excluded or could not be chosen, and a caution about searches."""
    lines = []
    if left_out := sum(selected.left_out for selected in found):
        lines.append(f"Left out: {left_out} settings that lack some of the seeds of the others.")
    if stopped := sum(selected.stopped for selected in found):
        lines.append(f"Left out: {stopped} run{'' if stopped == 1 else 's'} that a search stopped early.")
    if any(row.hyperparams == "search" for selected in found for row in selected.rows):
        lines.append(
            "For a search: later settings were chosen from earlier results on all seeds, and selecting on half of "
            "them does not undo that. Its bias can be larger than shown."
        )
    if without := sum(selected.without for selected in found):
        lines.append(
            f"Of {sum(selected.settings for selected in found)} settings that were compared, {without} have no value "
            "on a seed, since the run diverged or no episode ended in it, and cannot be chosen."
        )
    return lines


def _line(table: Table[Found], selected: Selected) -> dict[str, object]:
    """The line of a selection in the CSV."""
    return {
        "table": table.name,
        "metric": selected.measure.name,
        "unit": selected.measure.unit,
        "activation": selected.activation,
        **selected.selection,
        "column": selected.label,
        **{f"best.{name}": value for name, value in selected.own.items() if name in selected.varied},
        **fields(selected.ours, "mean", "sd"),
        "seeds": selected.bias.seeds,
        **fields(selected, "settings", "left_out", "stopped"),
        **fields(selected.bias, "honest", "bias", "agreement", "splits"),
        "no_bias_because": selected.bias.reason,
        "runs": " ".join(selected.runs),
    }


SELECTED = Table(
    name="selected",
    title="Best settings, and the bias of selecting them",
    build=build,
    render=render,
    caption=caption,
    measured=compared,
)

TABLES = (SELECTED,)
