"""The cost of W&B for a sweep: the same runs with offline W&B runs, and with the store alone, in turns.

    python -m launch.bench.tracked [--runs 200] [--workers 1] [--repeats 3] [--out FOLDER] [words of a command]

Both are commands as a user gives them. The script compares the seconds of their packs' training, and the seconds of the
whole commands. The command with W&B waits at its end until W&B's files are written.
"""

import tempfile
from pathlib import Path
from statistics import median

from launch.bench.choices import parsed, parser_of, write_result
from launch.bench.jobs import seconds_of
from plasticity_lab.process.exits import leave, status_of
from plasticity_lab.records.record import all_records
from plasticity_lab.records.store import Store

PLAIN, TRACKED = "store", "wandb_offline"


def training_seconds(store: Store) -> float:
    """The packs' seconds of training, from the records; the seconds of parallel workers are added up."""
    records, _ = all_records(store)
    return sum({each["provenance"]["pack"]: each["provenance"]["pack_seconds"] for each in records}.values())


def main() -> None:
    """The command."""
    parser = parser_of("tracked", __doc__)
    parser.add_argument("--runs", type=int, default=200, help="the sweep's seeds")
    parser.add_argument("--workers", type=int, default=1, help="1 leaves W&B a core on a machine with two")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("words", nargs="*", default=["schedule=demo"], help="a run's words; default schedule=demo")
    options = parsed(parser, "tracked")
    words = [*options.words, f"seed=range(0,{options.runs})", "device=cpu", f"launch.workers={options.workers}"]
    parts: dict[str, dict[str, list[float]]] = {name: {"training": [], "whole": []} for name in (PLAIN, TRACKED)}
    for _ in range(options.repeats):
        for name, seconds in parts.items():
            with tempfile.TemporaryDirectory() as folder:
                store = Store(Path(folder))
                seconds["whole"].append(round(seconds_of([*words, f"tracking={name}"], options.runs, store), 2))
                seconds["training"].append(round(training_seconds(store), 2))
            print(f"{name}: trained {seconds['training'][-1]} s, in all {seconds['whole'][-1]} s", flush=True)
    ratios = {part: _ratio(parts[TRACKED][part], parts[PLAIN][part]) for part in ("training", "whole")}
    print(f"Tracked, training takes {ratios['training']:.3f} × the time, the whole command {ratios['whole']:.3f} ×.")
    write_result(options.out, "tracked", {"words": words, "seconds": parts, "ratios": ratios})


def _ratio(tracked: list[float], plain: list[float]) -> float:
    """The median of the rounds' ratios: a long disturbance of the machine affects both commands of a round."""
    return round(median(one / other for one, other in zip(tracked, plain, strict=True)), 4)


if __name__ == "__main__":
    leave(status_of(main))
