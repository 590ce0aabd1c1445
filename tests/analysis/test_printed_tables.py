"""What the paper's own printed tables say of each other."""

import pytest

from analysis.check_paper.command import findings
from analysis.check_paper.sheets import Verdict


@pytest.fixture(scope="module")
def paper():
    """(table, subject) → verdicts of the real tables."""
    found = {}
    for one in findings():
        found.setdefault((one.table, one.subject), set()).add(one.verdict)
    return found


@pytest.mark.parametrize(
    "place",
    [
        ("Table 4", "Rand. Smooth-Leaky"),  # the sign of its IQM
        ("Table 2", "Continual ImageNet, against Leaky-ReLU"),  # 85.38 ± 0.25 is not significantly above 85.28 ± 0.20
        ("Table E3", "Rational, Random Label CIFAR"),  # 94.82 + 8.32 > 100
        ("Table 3", "Sigmoid: score"),
        ("Table E2", "Rand. Smooth-Leaky, Random Label CIFAR"),  # bounds [0.5, 0.5] were not searched
        ("Table F3", "Rational, Humanoid-v5"),
    ],
    ids=str,
)
def test_the_paper_disagrees_with_itself(paper, place):
    assert Verdict.DISAGREES in paper[place]


def test_most_of_the_paper_agrees_with_itself(paper):
    assert paper["Table F3", "Rational"] == {Verdict.AGREES}, "IQM, mean and SD of its Δ"
    assert paper["Table G2", "Random Label CIFAR, against Bo-PReLU"] == {Verdict.OPEN}
    assert sum(verdicts == {Verdict.AGREES} for verdicts in paper.values()) > 0.8 * len(paper)
