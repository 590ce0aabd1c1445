import numpy as np
import pytest
import torch

from launch.command import resolve
from plasticity_lab.assembly import assembled
from plasticity_lab.interventions.snr import SelfNormalizedResets
from plasticity_lab.networks.cnn import CNN
from plasticity_lab.records.rows import Position
from tests.helpers.packs import CPU, choice, differing, images, run, trained
from tests.helpers.situations import after, begun, changed_columns, copied, silent

SNR = "plasticity_lab.interventions.snr.SelfNormalizedResets"
EAGER = {"min_age": 1, "min_count": 3}
GAPS = [1, 2, 4]
"""From one firing of units 0, 1, 2 of the first layer to the next, in updates; unit 3 always fires."""


def until_silence(pack, now, rounds: int = 8):
    """Units fire in their rhythm, then for the last time all in the same update."""
    for update in range(-4 * rounds + 1, 1):
        hidden = silent(now)
        for unit, gap in enumerate(GAPS):
            hidden["hidden1"][:, 1, unit] = float(update % gap == 0)
        hidden["hidden1"][:, 2, 3] = -1.0  # what is negative fires too: its size counts
        hidden["hidden2"][:] = 1.0
        now = after(pack, now, hidden)
    return now, {name: value for name, value in hidden.items()}


def test_a_unit_silent_for_longer_than_its_percentile_is_reset_and_only_it():
    """(1 − 1/gap)^a ≤ η for the first time: at η = 0.01 gap 2 after 7 updates (½⁷ = 0.008), gap 4 after 17
    (¾¹⁷ = 0.0075); at 0.1 after 4 and 9; a unit that fired every time at once.
    """
    pack = [SelfNormalizedResets(strength, **EAGER) for strength in (0.01, 0.1)]
    now, hidden = until_silence(pack, begun(pack))
    assert not now.state["resets"].any()
    hidden["hidden1"][:, :, :3] = 0.0
    reset_at = [{}, {}]
    for silence in range(1, 18):
        before = copied(now)
        now = after(pack, now, hidden)
        for run_, found in enumerate(reset_at):
            columns = changed_columns(before["hidden1.weight"][run_], now.parameters["hidden1.weight"][run_])
            found |= {unit: silence for unit in columns if unit not in found}
        assert torch.equal(before["output.weight"], now.parameters["output.weight"])
        assert torch.equal(before["output.bias"], now.parameters["output.bias"])
    assert reset_at == [{0: 1, 1: 7, 2: 17}, {0: 1, 1: 4, 2: 9}]


@pytest.mark.parametrize("outgoing", ["keep", "zero"])
def test_what_is_reset_of_a_unit(outgoing):
    """Weights in as its layer starts, bias 0, no moments of these; weights out stay, or become 0 with their moments."""
    pack = [SelfNormalizedResets(0.01, outgoing=outgoing, **EAGER)] * 2
    now, hidden = until_silence(pack, begun(pack))
    before = copied(now)
    hidden["hidden1"][1, :, 1] = 0.0
    for _ in range(7):
        now = after(pack, now, hidden)
    assert now.state["resets"].tolist() == [0, 1]
    assert all(torch.equal(before[name][0], value[0]) for name, value in copied(now).items())
    own = {name: value[1] for name, value in copied(now).items()}
    assert own["hidden1.weight"][:, 1].abs().max() <= 0.5  # 1/√4
    assert changed_columns(before["hidden1.weight"][1], own["hidden1.weight"]) == [1]
    assert own["hidden1.bias"][0, 1] == 0
    assert changed_columns(before["hidden1.bias"][1], own["hidden1.bias"]) == [1]
    for kind in ("m ", "v "):
        assert not own[f"{kind}hidden1.weight"][:, 1].any()
        assert own[f"{kind}hidden1.weight"][:, [0, 2, 3]].all()
        assert own[f"{kind}hidden1.bias"].tolist() == [[1, 0, 1, 1]]
        assert own[f"{kind}hidden2.weight"][1].any() == (outgoing == "keep")
    gone = own["hidden2.weight"].clone()
    gone[1] = 0
    kept = before["hidden2.weight"][1]
    assert torch.equal(own["hidden2.weight"], kept if outgoing == "keep" else torch.where(gone == 0, gone, kept))


def test_a_unit_that_has_not_fired_often_enough_and_a_short_silence_are_left_alone():
    pack = [SelfNormalizedResets(0.5, min_age=1, min_count=100)]
    now, hidden = until_silence(pack, begun(pack))
    hidden["hidden1"][:, :, :3] = 0.0
    for _ in range(20):
        now = after(pack, now, hidden)
    assert not now.state["resets"].any()
    pack = [SelfNormalizedResets(0.5, min_age=17, min_count=3)]  # of batches of 4: five updates
    now, hidden = until_silence(pack, begun(pack))
    hidden["hidden1"][:, :, 0] = 0.0
    counts = []
    for _ in range(6):
        now = after(pack, now, hidden)
        counts.append(int(now.state["resets"]))
    assert counts == [0, 0, 0, 0, 1, 1]


def resets_over(pack, now, batches, weights):
    """Resets so far after each update in which unit 0 alone is silent.  weights: of each batch's four rows."""
    counts, hidden = [], silent(now)
    hidden["hidden1"][:, :, 1:], hidden["hidden2"][:] = 1.0, 1.0
    for _ in range(batches):
        now = after(pack, now, hidden, next(weights))
        counts.append(int(now.state["resets"]))
    return counts


def test_a_silence_is_as_old_as_the_examples_that_it_has_lasted():
    """min_age = 7. Of four rows with three examples, two updates have 6 and three have 9; of four examples, two have 8.
    Batches of 4, 1, 1, 1 examples have 7 with the fourth: the end of one epoch and small batches behind it.
    """
    pack = [SelfNormalizedResets(0.01, min_age=7, min_count=3)]
    three, four, one = torch.tensor([1 / 3] * 3 + [0.0]), torch.tensor([0.25] * 4), torch.tensor([1.0, 0, 0, 0])
    for shown, expected in (
        ([three] * 3, [0, 0, 1]),
        ([four] * 2, [0, 1]),
        ([None] * 2, [0, 1]),  # without weights all rows are examples
        ([four, one, one, one], [0, 0, 0, 1]),
        ([one, four, four], [0, 0, 1]),
    ):
        now, _ = until_silence(pack, begun(pack))
        assert resets_over(pack, now, len(shown), iter(shown)) == expected


def test_a_checkpoint_from_before_examples_were_counted_goes_on():
    stream, learner = assembled(
        [run(1, intervention=choice("intervention", "snr"), images=61)], images(8, 61, 20), CPU, False
    )
    task = stream.task(0)
    learner.begin(task, fresh=True)
    state = learner.state()
    kept = state["intervention"]
    state["intervention"] = {name: value for name, value in kept.items() if not name.endswith(".examples")}
    learner.load(state, {})
    learner.begin(task, fresh=False)
    for chunk in task.chunks(Position(0, 0)):
        learner.advance(chunk)
    assert learner.state()["intervention"].keys() == kept.keys()


def test_rows_that_only_fill_up_a_batch_and_what_is_at_most_epsilon_do_not_count():
    pack = [SelfNormalizedResets(0.01, epsilon=0.5, **EAGER)]
    now = begun(pack)
    hidden = silent(now)
    hidden["hidden1"][0, :, 0], hidden["hidden1"][0, 3, 1], hidden["hidden1"][0, 1, 2] = 0.5, 9.0, 0.75
    now = after(pack, now, hidden, weights=torch.tensor([0.5, 0.5, 0.0, 0.0]))
    assert now.state["hidden1.age"].tolist() == [[1, 1, 0, 1]]


def test_a_channel_fires_if_any_of_its_pixels_does():
    pack = [SelfNormalizedResets(0.01, **EAGER)]
    now = begun(pack, CNN(channels=4, kernel=3, width=4, padding="same"), side=8)
    hidden = silent(now)
    hidden["conv1"][0, 2, 1, 7, 0] = 1.0
    now = after(pack, now, hidden)
    assert now.state["conv1.age"].tolist() == [[1, 0, 1, 1]]
    assert now.state["conv1.count"].tolist() == [[0, 1, 0, 0]]


def test_with_strength_zero_nothing_is_reset_and_leaky_units_never_are():
    image_set, stream = images(8, 61, 20), {"images": 61, "tasks": 2, "epochs": 2}
    own = {"strength": 0.0, "min_age": 1, "min_count": 1, "epsilon": 0.5}
    watched = trained([run(1, intervention=(SNR, own), **stream)], image_set)
    numbers = {name: values for name, values in watched.of(0).items() if name != "resets"}
    assert not differing(numbers, trained([run(1, **stream)], image_set).of(0))
    usual = choice("intervention", "snr")
    leaky = trained([run(1, "leaky_relu", intervention=usual, **stream)], image_set)
    assert not leaky.agent.network.kept["resets"].any()


@pytest.mark.parametrize(("protocol", "outgoing"), [("as_published", "keep"), ("clean", "zero")])
def test_a_protocol_says_what_becomes_of_the_weights_out(protocol, outgoing):
    (found,) = resolve(["intervention=snr", f"protocol={protocol}"]).runs
    assert found.science["intervention"]["outgoing"] == outgoing
    (typed,) = resolve(["intervention=snr", f"protocol={protocol}", "intervention.outgoing=keep"]).runs
    assert typed.science["intervention"]["outgoing"] == "keep"


def test_the_logarithm_lies_on_the_run_axis():
    assert SelfNormalizedResets(0.0).on_run_axis()["log_strength"] == -np.inf
    assert SelfNormalizedResets(0.01).on_run_axis()["log_strength"] == pytest.approx(-4.60517)
