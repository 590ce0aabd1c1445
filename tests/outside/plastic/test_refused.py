"""Everything that cannot be done ends in one sentence that names the right way."""

import pytest
import torch
from torch import nn
from torch.nn.functional import normalize, relu, silu

from plasticity_lab.component import load, typed
from plasticity_lab.errors import ConfigError, InputError
from plasticity_lab.outside import Plastic
from plasticity_lab.outside.plastic import names
from tests.helpers.packs import choice, choices
from tests.helpers.twins import Net

X = torch.rand(4, 3)
LAYERS = {"first": (3, 4), "second": (4, 4), "out": (4, 2)}


def made(forward, name: str = "redo", **more) -> Plastic:
    """A network of three linear layers with this forward pass, after one pass."""
    return watched(Net(forward, **{layer: nn.Linear(*sizes) for layer, sizes in LAYERS.items()}), name, **more)


def watched(module: nn.Module, name: str = "redo", x=X, **more) -> Plastic:
    return Plastic(module, torch.optim.Adam(module.parameters()), name, example=x, **more)


PLAIN = lambda m, x: m.out(relu(m.second(relu(m.first(x)))))  # noqa: E731
REFUSED = {
    "twice": (lambda m, x: m.out(relu(m.second(relu(m.second(relu(m.first(x))))))), "first", "more than once"),
    "gate": (lambda m, x: m.out(silu(m.first(x)) * torch.sigmoid(m.first(x))), "first", "more than once|function"),
    "product": (lambda m, x: m.out(m.second(h := relu(m.first(x))) * h), "first", "function"),
    "joined": (lambda m, x: m.out(relu(m.first(x)).roll(1, 1)), "first", "order"),
    "unknown": (lambda m, x: m.out(normalize(relu(m.first(x)))), "first", "normalize"),
    "matrix": (lambda m, x: relu(m.first(x)) @ m.out.weight.t(), "first", "matmul"),
    "attended": (lambda m, x: m.out((h := relu(m.first(x))).softmax(0).t() @ h), "first", "softmax|matmul"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_units_with_values_that_go_elsewhere_are_refused_or_left_alone_on_request(case):
    forward, place, why = REFUSED[case]
    with pytest.raises(InputError, match=rf"redo cannot reset the units of {place}: .*({why}).*leave=\['{place}'\]"):
        made(forward)
    names_left = [place]
    for _ in range(3):
        try:
            keep = made(forward, leave=names_left)
        except InputError as error:
            if "no units" in str(error):
                return
            names_left.append(str(error).split("leave=['")[1].split("']")[0])
    assert place not in keep.places
    assert place in keep.left_alone


def test_a_computed_weight_is_refused():
    module = nn.Sequential(
        nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)), nn.ReLU(), nn.Linear(4, 4), nn.ReLU()
    )
    module.append(nn.Linear(4, 2))
    with pytest.raises(InputError, match="weight_norm"):
        watched(module)
    assert watched(module, leave=["relu_0"]).places == ["2"]
    with pytest.raises(InputError, match=r"fire does not know .*original1.*leave=\['0.parametrizations.weight'\]"):
        watched(module, "fire")
    watched(module, "fire", leave=["0"])


@pytest.mark.parametrize(
    ("name", "module", "x", "cure"),
    [
        ("fire", nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), nn.Linear(6, 2)), torch.zeros(4, 2).long(), "0"),
        ("fire", nn.Sequential(nn.Conv2d(2, 2, 3, groups=2)), torch.rand(2, 2, 5, 5), "0"),
        ("selective_reinit", nn.Sequential(nn.Conv2d(2, 2, 3, groups=2)), torch.rand(2, 2, 5, 5), "0"),
        ("dash", nn.Sequential(nn.Conv2d(2, 2, (3, 1))), torch.rand(2, 2, 5, 5), "0"),
        ("l2", nn.Sequential(nn.ConvTranspose2d(2, 2, 3), nn.Conv2d(2, 2, 3)), torch.rand(2, 2, 5, 5), "0"),
        ("nap", nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), X, "0"),
    ],
)
def test_a_layer_of_another_structure_is_refused_and_can_be_left_alone(name, module, x, cure):
    with pytest.raises(InputError, match=rf"leave=\['{cure}'\]"):
        watched(module, name, x)
    if len(module) > 1 and name != "nap":
        watched(module, name, x, leave=[cure])


def test_nap_refuses_an_activation_that_is_not_homogeneous():
    module = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Tanh(), nn.Linear(4, 2))
    with pytest.raises(InputError, match=r"tanh.*affine='pull'"):
        watched(module, "nap")
    watched(module, "nap", affine="pull")


def test_unknown_interventions_and_settings_are_refused_with_the_right_ones():
    with pytest.raises(ConfigError, match=r"'reddo'.*redo"):
        made(PLAIN, "reddo")
    with pytest.raises(ConfigError, match=r"'evry'.*every"):
        made(PLAIN, "redo", evry=10)
    with pytest.raises(ConfigError, match=r"every.*at least 1"):
        made(PLAIN, "redo", every=0)
    with pytest.raises(ConfigError, match=r"prune_experts needs.*experts"):
        made(PLAIN, "prune_experts")
    with pytest.raises(ConfigError, match=r"layers.*last"):
        made(PLAIN, "reset_layers", layers="head")
    with pytest.raises(ConfigError, match="every"):
        made(PLAIN, {"redo": {}, "l2": {}}, every=3)


def test_every_intervention_of_the_laboratory_is_known_or_refused_in_a_sentence():
    """With the settings of its file, if none is given."""
    assert set(choices("intervention")) == names.CLASSES.keys() | names.REFUSED.keys()
    for name, of in names.classes().items():
        target, settings = choice("intervention", name)
        assert load(target) is of
        assert typed(of, "intervention", name, {}) | names.PRESETS.get(name, {}) == settings


def step(keep: Plastic, penalty: bool = True, zero: bool = False) -> None:
    (optimizer,) = keep._optimizers
    (keep.model(X).sum() + (keep.penalty() if penalty else 0)).backward()
    optimizer.step()
    if zero:
        optimizer.zero_grad()
    keep.step()


def test_calls_in_a_wrong_order_are_refused():
    module = nn.Linear(3, 2)
    with pytest.raises(InputError, match="forward pass"):
        Plastic(module, torch.optim.SGD(module.parameters()), "l2").step()
    with pytest.raises(InputError, match="penalty"):
        step(made(PLAIN, "l2_init"), penalty=False)
    with pytest.raises(InputError, match="zero_grad"):
        step(made(PLAIN, "ccbp"), zero=True)
    keep = made(PLAIN, "redo")
    step(keep)
    with pytest.raises(InputError, match="No forward pass"):
        keep.step()
    with pytest.raises(InputError, match=r"ewc.*examples=\(inputs, answers\)"):
        made(PLAIN, "ewc").task_ended()
    with pytest.raises(InputError, match=r"dash.*coming=\(inputs, answers\)"):
        made(PLAIN, "dash").task_ended()
    keep = made(PLAIN, "c_chain")
    keep.model(X)
    with pytest.raises(InputError, match="second=other inputs"):
        keep.penalty()


@pytest.mark.parametrize("name", ["redo", "ccbp"])
@pytest.mark.parametrize(
    "forward",
    [
        lambda m, x: m.out(relu(m.second(relu(m.first(x)) if len(x) == 4 else m.first(x)))),
        lambda m, x: m.out(relu((m.first if len(x) == 4 else m.other)(x))),
        lambda m, x: (m.out if len(x) == 4 else m.second)(relu(m.first(x))),
    ],
)
def test_a_forward_pass_that_branches_is_refused_at_the_other_branch(name, forward):
    """Another activation, the same after another layer, or the same before another layer."""
    layers = {layer: nn.Linear(*sizes) for layer, sizes in LAYERS.items()}
    keep = watched(Net(forward, other=nn.Linear(3, 4), **layers), name)
    step(keep)
    keep.model(torch.rand(8, 3)).sum().backward()
    with pytest.raises(InputError, match="other layers or activations"):
        keep.step()


def test_layers_without_a_known_activation_are_listed():
    keep = made(lambda m, x: m.out(torch.maximum(z := m.second(relu(m.first(x))), 0 * z)))
    assert keep.places == ["first"]
    assert "maximum" in keep.left_alone["second"]


def test_a_change_in_place_that_is_not_followed_is_refused():
    def forward(m, x):
        h = relu(m.first(x))
        h.view(-1)[:2] = 0
        return m.out(h)

    with pytest.raises(InputError, match="in place"):
        made(forward)


def test_parameters_that_no_optimizer_has_and_parameters_in_float64_are_refused():
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    with pytest.raises(InputError, match="trains no parameter"):
        Plastic(module, torch.optim.Adam([nn.Parameter(torch.zeros(2))]), "redo")
    with pytest.raises(InputError, match=r"0\.weight is float64"):
        watched(module.double())


def test_no_units_is_a_mistake_for_resets_and_none_for_others():
    with pytest.raises(InputError, match="redo found no units"):
        watched(nn.Linear(3, 2))
    step(watched(nn.Linear(3, 2), "l2"))


def test_two_numbers_of_values_for_each_unit_are_refused():
    layers = {"first": nn.Linear(3, 4), "second": nn.Linear(2, 4), "out": nn.Linear(4, 2)}
    with pytest.raises(InputError, match="1/2 and 1 values"):
        watched(Net(lambda m, x: m.out(relu(m.second(nn.functional.glu(m.first(x))))), **layers))


class Own(torch.autograd.Function):
    """A ReLU that torch's function modes do not see."""

    @staticmethod
    def forward(ctx, x):
        return torch.from_numpy(x.numpy().clip(0))

    @staticmethod
    def backward(ctx, slope):
        return slope


def test_values_that_cannot_be_followed_are_refused_by_resets_alone():
    with pytest.raises(InputError, match="OwnBackward"):
        made(lambda m, x: m.out(Own.apply(m.second(relu(m.first(x))))))
    step(made(lambda m, x: m.out(Own.apply(m.second(relu(m.first(x))))), "l2_init"))
    features = nn.Linear(3, 3)(X)  # an input with a gradient of another network
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    keep = Plastic(module, torch.optim.Adam(module.parameters()), "redo")
    module(features)
    assert keep.places == ["0"]


def test_a_name_to_leave_that_nothing_has_is_refused():
    with pytest.raises(InputError, match="'frist'"):
        made(PLAIN, leave=["frist"])
    assert made(PLAIN, leave="first").places == ["second"]


@pytest.mark.parametrize("shown", [True, False])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_pass_that_is_interrupted_leaves_no_trace(error, shown):
    def forward(m, x):
        h = relu(m.first(x))
        if len(x) == 5:
            raise error
        return m.out(relu(m.second(h)))

    module = Net(forward, **{layer: nn.Linear(*sizes) for layer, sizes in LAYERS.items()})
    example = {"example": X} if shown else {}
    keep = Plastic(module, torch.optim.Adam(module.parameters()), "redo", **example)
    with pytest.raises(error):
        module(torch.rand(5, 3))
    step(keep)
    assert not torch.overrides._get_current_function_mode_stack()
    assert keep.places == ["first", "second"]


def test_a_module_that_calls_itself_is_one_pass():
    module = Net(lambda m, x: m.out(relu(m(x[:, :2]))) if x.shape[1] == 3 else m.first(x), first=nn.Linear(2, 4))
    module.add_module("out", nn.Linear(4, 2))
    keep = Plastic(module, torch.optim.Adam(module.parameters()), "logit_norm", strength=1.0)
    for _ in range(2):
        made = module(X)
        torch.testing.assert_close(keep.penalty(), made.square().mean())
        keep.step()
