"""What is said of shocks before anything is trained."""

import pytest

from launch.command import resolve

SHOCKS = ("benchmark=split_digits", "perturbation=shocks")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["benchmark.epochs=5"], "no epoch is shocked, since tasks of split_digits have 5 epochs"),
        (["benchmark.epochs=20"], "of the 2 shocks of a task of split_digits 1 will be given and not measured"),
        (["benchmark.epochs=28"], "fewer than 9 epochs of the task follow"),
        (["benchmark.epochs=29"], None),
        (["benchmark.epochs=4", "perturbation.cycle=1"], "of the 4 shocks of a task of split_digits 4 will be given"),
        (["benchmark.epochs=5", "benchmark.steps=1"], "have 1 epochs"),
    ],
)
def test_of_shocks_it_is_said_which_are_not_given_and_which_not_measured(words, said):
    notes = [note for note in resolve([*SHOCKS, *words]).notes if note.startswith("perturbation")]
    assert len(notes) == (said is not None)
    assert said is None or said in notes[0]


def test_a_sweep_leaves_out_what_has_no_experts_and_a_word_alone_is_refused():
    found = resolve(["intervention=none,reset_experts"])
    assert {run.science["intervention"]["name"] for run in found.runs} == {"none"}
    assert any("intervention=reset_experts works on experts, and head=flatten has none" in note for note in found.notes)
    both = resolve(["intervention=none,prune_experts", "head=flatten,softmoe", "network=cnn"])
    assert len(both.runs) == 3
    for words in (["intervention=prune_experts"], ["intervention=[redo,reset_experts]"]):
        with pytest.raises(Exception, match="head=softmoe, expert_choice and token_choice have"):
            resolve(words)
