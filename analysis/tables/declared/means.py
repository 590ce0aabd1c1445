"""The tables of means: Tables 1, 2, G2, G3, E3 to E8, and the main metric of each agent.

Table 1: accuracies on Split-CIFAR-100, trained on all classes at once and on some after others. We read the accuracy of
the paper as the accuracy on the test images of all tasks after the last task. The table also has five further
accuracies: the same accuracy among the classes of each task; on training images; online; and on the test images of each
task right after it, among all classes and among the classes of the task.

Table 2: online accuracy of every activation on the continual supervised benchmarks. Table G2 has Bo-PReLU and PReLU,
Table G3 has R-SELU and SELU; both also have the best activation of Table 2. Table E3: the generalization gap, which is
the final task accuracy minus the average online accuracy.

Tables E4 to E8: the effect of interventions on every activation, one table for each benchmark. The paper says that all
columns are online accuracy, but the numbers in its columns of interventions look like final accuracies of the last
task. We make one table of each metric, and show the values of the paper in the table that they fit. The paper lacks
the column "fresh each task", which trains a new network on each task: it shows how much plasticity the other columns
lost. For an intervention that resets units, the number of resets is shown next to its column.
"""

from dataclasses import replace

from analysis.tables.grid import means

HEADLINE = means(name="headline", title="Headline", beside=("parameters", "seconds"))
TABLE1 = means(
    name="table1",
    title="Table 1",
    cell="acc",
    also=("masked_acc", "train_accuracy", "taoa", "final_accuracy", "masked_accuracy"),
    beside=("parameters", "seconds"),
    reported=("table1_split_cifar100.csv",),
    source="Table 1",
    renamed={"iid": "split_cifar100_joint", "class_incremental": "split_cifar100"},
    only={"benchmark": ("split_cifar100_joint", "split_cifar100", "split_digits_joint", "split_digits")},
    against="all",
    experiment="table1",
)

TABLE2 = means(
    name="table2",
    title="Table 2",
    cell="taoa",
    beside=("gap", "parameters", "seconds"),
    reported=("table2_taoa.csv", "tableG2_G3_taoa.csv"),
    source="Tables 2, G2 and G3",
    experiment="table2",
)
TABLE_G2, TABLE_G3 = (
    replace(
        TABLE2,
        name=f"table{number}",
        title=f"Table {number}",
        source=f"Table {number}",
        only={"activation": (*activations, "rand_smooth_leaky")},
        experiment=f"table{number}",
    )
    for number, activations in {"G2": ("prelu", "bo_prelu"), "G3": ("selu", "rselu")}.items()
)

TABLE_E3 = means(
    name="tableE3",
    title="Table E3",
    cell="gap",
    beside=("taoa",),
    reported=("tableE3_generalization_gap.csv",),
    source="Table E3",
    experiment="tableE3",
)

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

TABLES = (HEADLINE, TABLE1, TABLE2, TABLE_G2, TABLE_G3, TABLE_E3, *TABLES_E4_E8)
