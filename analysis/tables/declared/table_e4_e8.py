"""Tables E4 to E8: what interventions add to every activation, a table for each benchmark.

The paper says that all columns are online accuracy; its columns of interventions read as the final accuracy of the last
task. There is a table of each, and the paper's values are shown in the table that they read as. The column "fresh each
task", which the paper lacks, trains a new network on each task: it shows how much plasticity the others lost. Next to
an intervention that resets stands the number of resets.
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
