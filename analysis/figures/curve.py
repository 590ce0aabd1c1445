"""The course of one run as a picture: accuracies of its tasks, and the training loss of its epochs."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from plasticity_lab.records.files import write_atomically

INCHES, DOTS = (8.0, 6.0), 150
FEW_POINTS = 60
"""Of more a line alone is drawn."""


def draw_curve(path: Path, table: pa.Table, title: str, diverged_at: int | None) -> None:
    """Writes a PNG of a run's metrics, against its steps.  No screen is needed.  Raises StoreError.

    table: as metrics.parquet has it. diverged_at: the step at which the run diverged, which gets a mark.
    """
    figure = Figure(figsize=INCHES, layout="constrained")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, 1, sharex=True)
    above.set_title(title)
    tasks = table.filter(pc.equal(table["kind"], "task"))
    hard = tasks.filter(tasks["hard"])
    easy = tasks.filter(pc.invert(tasks["hard"]))
    for measure, label in (("aoa", "online accuracy"), ("final_accuracy", "accuracy after the task")):
        (line,) = above.plot(hard["step"].to_numpy(), 100 * hard[measure].to_numpy(), _style(hard), label=label)
        if len(easy):
            above.plot(
                easy["step"].to_numpy(), 100 * easy[measure].to_numpy(), ".", color=line.get_color(), alpha=0.3,
                label=f"{label}, easy tasks",
            )  # fmt: skip
    above.set_ylabel("of a task, %")
    epochs = table.filter(pc.equal(table["kind"], "epoch"))
    loss = epochs["train_loss"].to_numpy()
    below.plot(epochs["step"].to_numpy(), loss, _style(epochs), color="0.3", label="training loss")
    below.set_ylabel("of an epoch")
    below.set_xlabel("step")
    below.xaxis.set_major_formatter("{x:,.0f}")
    for axes in (above, below):
        if diverged_at is not None:
            axes.axvline(diverged_at, color="tab:red", linestyle="--", label="diverged")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small", framealpha=0.6)
    write_atomically(path, lambda file: figure.savefig(file, format="png", dpi=DOTS))


def _style(table: pa.Table) -> str:
    return ".-" if len(table) <= FEW_POINTS else "-"
