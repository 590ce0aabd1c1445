"""Table 1: accuracy on Split-CIFAR-100 after the last task, trained on all classes at once and on some after others."""

from analysis.tables.table import Table

TABLE1 = Table(
    name="table1",
    title="Table 1",
    rows="activation",
    columns="benchmark",
    cell="acc",
    beside=("parameters", "seconds"),
    reported=("table1_split_cifar100.csv",),
    source="Table 1",
    renamed={"iid": "split_cifar100_joint", "class_incremental": "split_cifar100"},
    only={"benchmark": ("split_cifar100_joint", "split_cifar100")},
    against="all",
)
