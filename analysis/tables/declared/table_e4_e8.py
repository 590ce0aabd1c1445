"""Tables E4 to E8: the effect of interventions on every activation, one table for each benchmark.

The paper says that all columns are online accuracy, but the numbers in its columns of interventions look like final
accuracies of the last task. We make one table of each metric, and show the paper's values in the table that they fit.
The column "fresh each task", which the paper lacks, trains a new network on each task: it shows how much plasticity the
other columns lost. For an intervention that resets units, the number of resets is shown next to its column.
"""

from analysis.tables.grid import means

BENCHMARKS = ("permuted_mnist", "random_label_mnist", "random_label_cifar", "cifar51", "continual_imagenet")
TABLES_E4_E8 = tuple(
    means(
        name=f"tableE{number}",
        title=f"Table E{number}",
        columns="intervention",
        cell="taoa",
        also=("final_accuracy_last_task",),
        beside=("resets", "parameters", "seconds"),
        reported=("tableE4_E8_interventions.csv",),
        source=f"Table E{number}",
        only={"benchmark": (benchmark,), "intervention": ("none", "l2_init", "snr", "ewc", "fresh_each_task")},
        experiment=f"tableE{number}",
        reference="fresh_each_task",
    )
    for number, benchmark in enumerate(BENCHMARKS, start=4)
)

TABLES = TABLES_E4_E8
