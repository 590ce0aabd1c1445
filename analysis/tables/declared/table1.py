"""Table 1: accuracies on Split-CIFAR-100, trained on all classes at once and on some after others.

We read the paper's accuracy as the accuracy on all tasks' test images after the last task. The table also has five
further accuracies: the same accuracy among the classes of each task; on training images; online; and on each task's
test images right after the task, among all classes and among the task's classes.
"""

from analysis.tables.grid import means

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

TABLES = (TABLE1,)
