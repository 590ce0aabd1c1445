"""The tables of docs/pages/reference/speed.md, made from the results in `analysis/measured/speed/`.

    python -m launch.bench.page             writes them into docs/pages/reference/speed.md, between its two markers
    python -m launch.bench.page --check     exits with 1 if the page differs from the results

A result is a JSON file of `launch.bench`, its `whole`, `modes`, `environments`, `starts`, `prices` or `frames`, or a
campaign's `convolutions` or `processes`. It was copied there with two keys added: `machine`, the processor's name, and
`command`, the command that measured it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from launch.bench.choices import parser_of
from plasticity_lab.errors import ConfigError
from plasticity_lab.process.exits import leave, status_of

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "analysis" / "measured" / "speed"
PAGE = ROOT / "docs" / "pages" / "reference" / "speed.md"
BEGIN, END = "<!-- python -m launch.bench.page: begin -->", "<!-- end -->"

RATES = ("widths", "bodies", "values")
"""Parts of the bench that compare rates with a plain script; the others compare a step with the plain step."""
SCRIPTS = ("usual script", "plain script")


class Result(NamedTuple):
    """A measured file, and the number of its line in the list below a machine's tables."""

    number: int
    content: Mapping[str, Any]

    @property
    def preloaded(self) -> str:
        """The end of a row's name if the command preloaded `avx512.so`."""
        return ", with `avx512.so`" if "avx512.so" in self.content["command"] else ""


def tables() -> str:
    """All tables, one section for each machine, as Markdown."""
    contents = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))]
    contents = [content for content in contents if "machine" in content]
    machines = sorted({content["machine"] for content in contents}, key=lambda name: ("NVIDIA" in name, name))
    return "\n\n".join(_section(name, [content for content in contents if content["machine"] == name])
                       for name in machines)  # fmt: skip


def _section(machine: str, contents: Sequence[Mapping[str, Any]]) -> str:
    results = [Result(number, content) for number, content in enumerate(contents, start=1)]
    parts = [f"### {machine}"]
    rates = (_RATE_HEADING, _rates(results)), (_COST_HEADING, _costs(results))
    others = (
        (_ENVIRONMENT_HEADING, _environments(results)),
        (_START_HEADING, _starts(results)),
        (_PRICE_HEADING, _prices(results)),
        (_FRAMES_HEADING, _frames(results)),
    )
    campaigns = (_SHARED_HEADING, _shared(results)), (_GRADIENT_HEADING, _gradients(results))
    for heading, rows in (*rates, *_commands(results), *others, *campaigns):
        if lines := list(rows):
            parts.append("\n".join([heading, *lines]))
    return "\n\n".join([*parts, "\n".join(_measured(result) for result in results)])


_RATE_HEADING = """\
| | plain script, steps a second | eager | compiled | kernels | others | measured |
| --- | --- | --- | --- | --- | --- | --- |"""


def _rates(results: Sequence[Result]) -> Iterator[str]:
    """For each network or environment, each way to compute it at its best width, as a multiple of the plain script."""
    for result, comparison in _comparisons(results, RATES):
        best: dict[str, Mapping[str, Any]] = {}
        for row in comparison["rows"]:
            best[row["name"]] = max(row, best.get(row["name"], row), key=lambda row: row["rate"])
        script = next((best.pop(name) for name in SCRIPTS if name in best), None)
        packed = [best.pop(f"packed, {mode}", None) for mode in ("eager", "compiled", "kernels")]
        packed = [_times(row, script is not None) if row else "" for row in packed]
        others = "; ".join(f"{name.removeprefix('plain script, ').replace('the body', 'the environment')} "
                           f"{row['ratio']:,.2f} ×" for name, row in best.items())  # fmt: skip
        cells = (f"{_subject(comparison)}{result.preloaded}", _rate(script) if script else "", *packed, others)
        yield _line(*cells, f"[{result.number}]")


def _rate(row: Mapping[str, Any]) -> str:
    return f"{row['rate']:,.0f}" if row["rate"] >= 100 else f"{row['rate']:.1f}"


def _times(row: Mapping[str, Any], script: bool) -> str:
    """How many times the script's rate (the least and the most of all rounds), and the runs in the pack.

    script: whether there is a script; without one, the rate.
    """
    if not script:
        return f"{_rate(row)} a second, {row['facts']['width']}"
    digits = 0 if row["ratio"] >= 100 else 2
    ratio, least, most = (f"{row[key]:,.{digits}f}" for key in ("ratio", "least", "most"))
    return f"{ratio} × ({least} – {most}), {row['facts']['width']}"


_COST_HEADING = """\
| | time of a step compared with the plain step (least – most) | measured |
| --- | --- | --- |"""


def _costs(results: Sequence[Result]) -> Iterator[str]:
    """For each comparison with the plain step: the seconds of each activation, intervention, head or kind of worker."""
    for result, comparison in _comparisons(results, ("activations", "interventions", "records", "processes", "heads")):
        base, *others = comparison["rows"]
        named = []
        for row in others:
            facts = row["facts"]
            what = facts.get("intervention") or (facts["activation"] if comparison["part"] == "activations" else None)
            named.append(f"{what or row['name']} {1 / row['ratio']:.2f} × "
                         f"({1 / row['most']:.2f} – {1 / row['least']:.2f})")  # fmt: skip
        subject = f"{_subject(comparison)}, {base['name'].removeprefix('packed, ')}, {base['facts']['width']}"
        yield _line(f"{subject}{result.preloaded}", "; ".join(named), f"[{result.number}]")


def _commands(results: Sequence[Result]) -> Iterator[tuple[str, list[str]]]:
    """A table of CPU seconds for each result that timed whole commands."""
    for result in results:
        seconds = result.content.get("cpu_seconds")
        if seconds is None:
            continue
        words = result.content.get("situations")
        if words is None:
            name = f"{result.content['runs']} runs × {result.content['tasks']} tasks of Permuted MNIST"
            seconds, words = {name: seconds}, {name: []}
        kinds = list(dict.fromkeys(kind for of in seconds.values() for kind in of))
        first = result.content.get("first", {})
        titles, rule = ["CPU seconds of a whole command", *kinds, "measured"], ["---"] * (len(kinds) + 2)
        rows = []
        for name, of in seconds.items():
            cells = [", ".join(f"{value:.0f}" for value in of.get(kind, ())) for kind in kinds]
            if name in first:
                cells = [f"{cell} (first: {first[name][kind]:.0f})" for cell, kind in zip(cells, kinds, strict=True)]
            rows.append(_line(f"{name}{': `' + ' '.join(words[name]) + '`' if words[name] else ''}", *cells,
                              f"[{result.number}]"))  # fmt: skip
        yield f"{_line(*titles)}\n{_line(*rule)}", rows


_ENVIRONMENT_HEADING = """\
| environment | µs of a step alone | µs of a step in a pack of 8 runs | measured |
| --- | --- | --- | --- |"""


def _environments(results: Sequence[Result]) -> Iterator[str]:
    """For each environment, the medians of all rounds."""
    for result in results:
        for name, by_width in result.content.get("environment_microseconds", {}).items():
            yield _line(name, *(f"{median(by_width[width]):.1f}" for width in ("1", "8")), f"[{result.number}]")


_START_HEADING = """\
| CPU seconds to the first step | without compiled code | with it | measured |
| --- | --- | --- | --- |"""


def _starts(results: Sequence[Result]) -> Iterator[str]:
    """For each agent, its first command and its second one."""
    for result in results:
        kernels = ", with our kernels" if result.content.get("kernels") else ""
        for name, (cold, warm) in result.content.get("to_the_first_step", {}).items():
            yield _line(f"{name}{kernels}", f"{cold:.1f}", f"{warm:.1f}", f"[{result.number}]")


_PRICE_HEADING = """\
| drawn commands | planned / measured, the least, the quartiles, the most | within 1.5 times | measured |
| --- | --- | --- | --- |"""


def _prices(results: Sequence[Result]) -> Iterator[str]:
    """For each family of drawn commands, the ratios of planned to measured seconds."""
    for result in results:
        by_family: dict[str, list[float]] = {}
        for row in result.content.get("commands", ()):
            by_family.setdefault(row["family"], []).append(row["ratio"])
        by_family["all"] = list(chain(*by_family.values()))
        for name, ratios in by_family.items():
            if ratios:
                five = np.quantile(ratios, (0, 0.25, 0.5, 0.75, 1))
                close = sum(1 / 1.5 <= ratio <= 1.5 for ratio in ratios)
                cells = ", ".join(f"{ratio:.2f}" for ratio in five), f"{close} of {len(ratios)}"
                yield _line(name, *cells, f"[{result.number}]")


_FRAMES_HEADING = """\
| replay memory of a run | GB of resident memory | bytes a frame | µs to add a step | ms of a batch of 32 | measured |
| --- | --- | --- | --- | --- | --- |"""


def _frames(results: Sequence[Result]) -> Iterator[str]:
    """For each game, the memory of the process when the ring was full, and after further steps."""
    for result in results:
        for row in result.content.get("replay_frames", ()):
            held = row["resident_bytes"]
            name = f"{row['game']}, {row['steps']:,} frames{'' if row['is_packed'] else ', not compressed'}"
            room = f"{held['full'] / 1e9:.2f}"
            if row["further"]:
                room += f" ({held['overwritten'] / 1e9:.2f} after {row['further']:,} more)"
            adding, batch = f"{row['microseconds_to_add']:.1f}", f"{row['milliseconds_of_batch']:.1f}"
            yield _line(name, room, f"{held['full'] / row['steps']:,.0f}", adding, batch, f"[{result.number}]")


_SHARED_HEADING = """\
| packs by processes on one GPU | updates a second with the multi-process service | without it | measured |
| --- | --- | --- | --- |"""


def _shared(results: Sequence[Result]) -> Iterator[str]:
    """For each number of processes, the sum of their rates with NVIDIA's service and without."""
    for result, comparison in _comparisons(results, ("processes on a GPU",)):
        rates = {(row["facts"]["processes"], row["facts"]["service"]): _rate(row) for row in comparison["rows"]}
        for count in sorted({count for count, _ in rates}):
            cells = (rates.get((count, service), "") for service in (True, False))
            yield _line(f"{comparison['name']}: {count}", *cells, f"[{result.number}]")


_GRADIENT_HEADING = """\
| gradients of a pack's convolution alone | ours | torch's grouped convolution | measured |
| --- | --- | --- | --- |"""


def _gradients(results: Sequence[Result]) -> Iterator[str]:
    """For each layer and gradient, its milliseconds in both ways."""
    for result, comparison in _comparisons(results, ("convolutions",)):
        by_way: dict[str, dict[str, str]] = {}
        for row in comparison["rows"]:
            facts, (way, _) = row["facts"], row["name"].split(":")
            name = f"{facts['layer']} layer of {facts['width']} CNNs, {facts['gradient']}"
            by_way.setdefault(name, {})[way] = f"{1000 * row['seconds']:.3g} ms"
        for name, cells in by_way.items():
            yield _line(name, cells.get("packed", ""), cells.get("torch, grouped", ""), f"[{result.number}]")


def _measured(result: Result) -> str:
    made = result.content["provenance"]
    changes = " and changes" if made["dirty"] else ""
    versions = made.get("torch") or made["versions"]["torch"]
    words = result.content["command"].removeprefix("python -m launch.bench ")
    return (f"{result.number}. {made['start'][:10]}, commit {made['commit'][:8]}{changes}, torch {versions}, "
            f"load {made['load'][0]:.1f}: `{words}`")  # fmt: skip


def _comparisons(results: Sequence[Result], parts: Sequence[str]) -> Iterator[tuple[Result, Mapping[str, Any]]]:
    for part in parts:
        for result in results:
            for comparison in result.content.get("comparisons", ()):
                if comparison["part"] == part:
                    yield result, comparison


def _subject(comparison: Mapping[str, Any]) -> str:
    """The network or the environment of a comparison, out of its name."""
    name = comparison["name"].split(",")[0]
    return name.upper() if name in ("mlp", "cnn") else name


def _line(*cells: object) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def main() -> None:
    """The command."""
    parser = parser_of("page", __doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page differs")
    check, page = parser.parse_args().check, PAGE.read_text()
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise ConfigError(f"{PAGE} must hold each of the lines {BEGIN} and {END} once.")
    before, _, rest = page.partition(BEGIN)
    new = f"{before}{BEGIN}\n\n{tables()}\n\n{END}{rest.partition(END)[2]}"
    if check and new != page:
        raise ConfigError(f"{PAGE} differs from {RESULTS}; python -m launch.bench.page writes it.")
    if not check:
        PAGE.write_text(new)


if __name__ == "__main__":
    leave(status_of(main))
