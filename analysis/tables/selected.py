"""`table selected`: the best settings of a store, and how much of their means is the luck of the seeds."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from analysis.names import NAMES, display
from analysis.rows import Row
from analysis.tables.caption import data_line
from analysis.tables.listing import NOTHING, Listing, signed
from analysis.tables.made_by import made_lines
from analysis.tables.missing import TRAINING
from analysis.tables.selection import Selected, selections, without_winner
from analysis.tables.table import Table

Found = tuple[Sequence[Selected], Sequence[str]]
"""The best settings that one listing shows, and a sentence for each search that has none."""
_HEADER = ("activation", "benchmark", "best setting", "chosen on all seeds", "chosen on half", "bias", "agreement")


def build(table: Table[Found], rows: Sequence[Row], metric_name: str | None) -> list[Found]:
    """One for each protocol, schedule, intervention and metric; searches without a winner stand with the first."""
    groups: dict[tuple[str, ...], list[Selected]] = {}
    for each in selections(rows, metric_name):
        chosen = {choice: name for choice, name in each.selection.items() if choice != "benchmark"}
        groups.setdefault((each.measure.name, *chosen.values()), []).append(each)
    first, *others = groups.values() or [[]]
    return [(first, without_winner(rows, metric_name)), *((found, []) for found in others)]


def words_of(own: Mapping[str, object], names: Sequence[str]) -> str:
    """Some settings of an activation in words, the learning rate last."""
    ordered = sorted(names, key=lambda name: name == "optimizer.lr")
    return ", ".join(f"{name.rpartition('.')[2]}={_word(own.get(name))}" for name in ordered) or NOTHING


def _word(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def render(table: Table[Found], of: Found) -> Listing:
    """A line for each activation on each benchmark."""
    found, _ = of
    if not found:
        return Listing(table.name, table.title, _HEADER, [], [], is_ours=False)
    measure = found[0].measure
    chosen = {choice: name for choice, name in found[0].selection.items() if choice != "benchmark"}
    names = [name for choice, name in chosen.items() if (choice, name) != ("intervention", "none")]
    body = [
        [
            display(NAMES["activation"], each.activation),
            each.name,
            f"{words_of(each.own, each.varied)} (of {each.settings:,})",
            _mean(each),
            NOTHING if each.bias.honest is None else measure.number(each.bias.honest),
            NOTHING if each.bias.bias is None else signed(each.bias.bias, measure.places),
            NOTHING if each.bias.agreement is None else f"{each.bias.agreement:.0%}",
        ]
        for each in found
    ]
    return Listing(
        name=table.name,
        title=f"{table.title}: {measure.title} ({', '.join(names)})",
        header=_HEADER,
        body=body,
        lines=[_line(table, each) for each in found],
        right=frozenset({4, 5, 6}),
    )


def _mean(each: Selected) -> str:
    number = each.measure.number
    return " ± ".join(number(value) for value in (each.ours.mean, each.ours.sd) if value is not None)


def caption(table: Table[Found], of: Found) -> list[str]:
    """How the settings were chosen and how much of that is luck; or what would make a choice, or why there is none."""
    found, lost = of
    if not found:
        line = (
            "No activation here has two settings to choose between, on the same seeds; a search trains some, as "
            f"`{TRAINING} 'activation=glob(*)' hyperparams=grid seed=0,1,2,3,4`."
        )
        return [*lost] or [line]
    measure = found[0].measure
    seeds = sorted({each.bias.seeds for each in found})
    unit = f" ({measure.unit})" if measure.unit else ""
    biases = [each.bias.bias for each in found if each.bias.bias is not None]
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
    if left_out := sum(each.left_out for each in found):
        lines.append(f"Left out: {left_out} settings that lack some of the seeds on which the others are compared.")
    if stopped := sum(each.stopped for each in found):
        lines.append(f"Left out: {stopped} run{'' if stopped == 1 else 's'} that a search stopped early.")
    if any(row.hyperparams == "search" for each in found for row in each.rows):
        lines.append(
            "Of a search: what it tried later follows from what came before on all seeds, which halves of them do not "
            "undo. Its bias can be larger than what is shown."
        )
    if without := sum(each.without for each in found):
        lines.append(
            f"Of {sum(each.settings for each in found)} settings that were compared, {without} have no value on a "
            "seed, since the run diverged or no episode ended in it, and cannot be chosen."
        )
    lines += provenance(found)
    lines.append("Reported on seeds that took no part: hyperparams=selected and other seeds, in the search's command.")
    return [*lines, *lost]


def provenance(found: Sequence[Selected]) -> list[str]:
    """What captions say of the runs among which something was selected: data, protocol, schedule, code and machine."""
    chosen = found[0].selection
    schedule = "full schedule" if chosen["schedule"] == "full" else f"reduced schedule: {chosen['schedule']}"
    with_it = "" if chosen["intervention"] == "none" else f"; intervention: {chosen['intervention']}"
    of_label: dict[str, list[Row]] = {}
    for each in found:
        of_label.setdefault(each.name, []).extend(each.rows)
    return [
        f"Protocol: {chosen['protocol']}; {schedule}{with_it}.",
        *(f"{label}: {data_line(rows)}." for label, rows in of_label.items()),
        *made_lines(
            [row for rows in of_label.values() for row in rows],
            {f"{display(NAMES['activation'], each.activation)} on {each.name}": each.mixed for each in found},
        ),
    ]


def _line(table: Table[Found], each: Selected) -> dict[str, object]:
    bias = each.bias
    return {
        "table": table.name,
        "metric": each.measure.name,
        "unit": each.measure.unit,
        "activation": each.activation,
        **each.selection,
        "column": each.label,
        **{f"best.{name}": value for name, value in each.own.items() if name in each.varied},
        "mean": each.ours.mean,
        "sd": each.ours.sd,
        "seeds": bias.seeds,
        "settings": each.settings,
        "left_out": each.left_out,
        "stopped": each.stopped,
        "honest": bias.honest,
        "bias": bias.bias,
        "agreement": bias.agreement,
        "splits": bias.splits,
        "no_bias_because": bias.reason,
        "runs": " ".join(each.runs),
    }
