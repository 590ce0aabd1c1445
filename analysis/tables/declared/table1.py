"""Table 1: accuracies on Split-CIFAR-100, trained on all classes at once and on some after others.

The paper's is read as that of all tasks' test images after the last one. Beside it stand five that say what a run has
learned: the same among each task's own classes, of its training images, online, and of each task's test images right
after it, among all classes and among its own.
"""

from analysis.tables.means import means

TABLE1 = means(
    name="table1",
    title="Table 1",
    rows="activation",
    columns="benchmark",
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

TABLES = (TABLE1,)
