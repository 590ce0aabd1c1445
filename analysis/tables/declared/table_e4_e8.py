"""Tables E4 to E8: what interventions add to every activation, a table for each benchmark.

The paper says that all columns are online accuracy; those of interventions read as final accuracy of the last task.
Both are shown, and its values stand beside the one they read as. A column that the paper has not begins anew with each
task, and says how much plasticity the others lost; of interventions that reset, how often stands beside them.
"""

from analysis.tables.means import means

BENCHMARKS = ("permuted_mnist", "random_label_mnist", "random_label_cifar", "cifar51", "continual_imagenet")
TABLES_E4_E8 = tuple(
    means(
        name=f"tableE{number}",
        title=f"Table E{number}",
        rows="activation",
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
