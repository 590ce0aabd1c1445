"""Every head and every kind of tokens under a value agent: packed = alone = resumed, experts and noise included."""

import pytest

from plasticity_lab.networks.tokenization import KINDS
from tests.agents.value.packs import SHORT
from tests.helpers.packs import choices, needs_compiler
from tests.tenants.packs import differing, hold, hold_compiled, packs_of, trained

WORDS = (
    *(word for word in SHORT if not word.startswith("network")),
    "benchmark=games",
    "benchmark.environment_steps=100",
    "network=small_impala",
    "network.hidden=12",
)
NOISELESS = ("tokenised",)
WALKED = [(head, "per_conv") for head in choices("head")] + [("softmoe", kind) for kind in KINDS[1:]]


def words_of(head: str, tokens: str) -> tuple[str, ...]:
    """A command's words; two experts where there are experts."""
    experts = ("head.experts=2",) if head in ("softmoe", "expert_choice", "token_choice") else ()
    agent = "rainbow_lite" if head in NOISELESS else "rainbow"
    kind = () if tokens == "per_conv" else (f"network.tokens={tokens}",)
    return (*WORDS, f"agent={agent}", f"head={head}", *experts, *kind)


@pytest.mark.walk(1)
@pytest.mark.parametrize(("head", "tokens"), WALKED)
def test_packed_alone_and_resumed_are_the_same(head, tokens):
    hold(*words_of(head, tokens), "benchmark.tasks=1", "seed=0,1", stops=[1])


def test_losses_that_balance_experts_are_learned_by_the_same_alone_and_packed():
    words = (*words_of("token_choice", "per_conv"), "benchmark.tasks=1", "seed=0,1")
    balanced = hold(*words, "head.importance_loss=0.1", "head.load_loss=0.1")
    assert differing(balanced[0], trained(packs_of(*words))[0])


@pytest.mark.walk(1)
@pytest.mark.parametrize("intervention", ["redo", "continual_backprop", "snr", "selective_reinit"])
def test_interventions_work_on_experts(intervention):
    every = () if intervention in ("continual_backprop", "snr") else ("intervention.every=3",)
    hold(*words_of("softmoe", "per_conv"), f"intervention={intervention}", *every, "benchmark.tasks=1", "seed=0,1")


RESETS = {
    "dormant": ("intervention=reset_experts", "intervention.dormant=0.5"),
    "all, router and target": (
        "intervention=reset_experts", "intervention.chosen=all", "intervention.router=true", "intervention.target=own",
    ),
    "perturbed": ("intervention=perturb_experts",),
    "beside another": ("intervention=[reset_experts,l2]",),
}  # fmt: skip


@pytest.mark.walk(1)
@pytest.mark.parametrize("how", RESETS)
def test_resets_of_experts_are_the_same_packed_alone_and_resumed(how):
    every = "intervention.reset_experts.every=3" if how == "beside another" else "intervention.every=3"
    words = (*words_of("softmoe", "per_conv"), "benchmark.tasks=1", "seed=0,1")
    packed = hold(*words, *RESETS[how], every, stops=[1])
    assert differing(packed[0], trained(packs_of(*words))[0]), "something was reset"


@pytest.mark.walk(1)
@pytest.mark.parametrize("head", ["softmoe", "expert_choice", "token_choice"])
def test_pruned_experts_are_the_same_packed_alone_and_resumed(head):
    pruned = ("intervention=prune_experts", "intervention.count=1", "intervention.first=3")
    hold(*words_of(head, "per_conv"), *pruned, "benchmark.tasks=1", "seed=0,1", stops=[1])


@pytest.mark.only(3)
@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("head", [head for head in choices("head") if head != "flatten"])
def test_compiled_a_run_is_the_same_alone_and_in_packs_of_many_widths(head):
    balanced = ("head.importance_loss=0.1", "head.load_loss=0.1") if head == "token_choice" else ()
    hold_compiled((2, 3, 6), *words_of(head, "per_conv"), *balanced, "benchmark.tasks=1")


@needs_compiler
@pytest.mark.slow
def test_compiled_resets_of_experts_are_the_same_alone_and_packed():
    resets = ("intervention=reset_experts", "intervention.every=3", "benchmark.tasks=1")
    hold_compiled((2, 3), *words_of("softmoe", "per_conv"), *resets)
