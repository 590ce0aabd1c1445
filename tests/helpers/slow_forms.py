"""Each diagnostic of a torch module as one writes it down: loops, whole Hessians, a backward pass for each example."""

import torch
from torch.autograd import grad
from torch.nn.attention import SDPBackend, sdpa_kernel

DEAD = {
    "relu": lambda h: h <= 1e-5,
    "sigmoid": lambda h: (h < 0.02) | (h > 0.98),
    "tanh": lambda h: h.abs() > 0.98,
}
"""Kind → dead pairs; of all others they are small."""


def numbers(module, x, targets, loss, layer=None, block=None):
    """Column → number.

    module.by_hand(x) → outputs, places (name → kind, z, h), features; z and h (B, U, *) from one graph.
    module.products(): the names of the parameters that count in gradients of examples. layer: the parameter of
    `gradient_rank`. block: parameters of the Hessian.
    """
    outputs, places, features = module.by_hand(x)
    losses = loss(outputs, targets)
    names, found = [*places], {}
    by_h = grad(losses.sum(), [h for _, _, h in places.values()], retain_graph=True)
    by_z = grad(losses.sum(), [z for _, z, _ in places.values()], retain_graph=True)
    for (name, (kind, z, h)), of_h, of_z in zip(places.items(), by_h, by_z, strict=True):
        found[name] = of_place(kind, *(value.flatten(2) if value.dim() > 2 else value.unsqueeze(2)
                                       for value in (z, h, of_h, of_z)), slope(z, h))  # fmt: skip
    whole = {}
    for part in ("dead_pairs", "dead_units", "dormant_units", "duplicate_units", "saturated", "grama_inactive",
                 "zero_gradient_units", "slope_probe"):  # fmt: skip
        flags = [found[name][part] for name in names if part in found[name]]
        for name in names:
            if part in found[name]:
                whole[f"{part}_{name.replace('.', '_')}"] = found[name][part].double().mean().item()
        if flags:
            whole[part] = torch.cat([each.flatten() for each in flags]).double().mean().item()
    return (
        whole
        | ranks(features)
        | of_gradients(module, x, targets, loss, layer)
        | hessian(module, x, targets, loss, block)
    )


def slope(z, h):
    """φ′ at each z; None if two values make one."""
    return grad(h.sum(), z, retain_graph=True)[0] if h.shape == z.shape else None


def of_place(kind, z, h, by_h, by_z, slopes):
    """Column → flags of pairs or units, or values.  z, h (B, U, R)."""
    small = h.abs() < 0.05 * h.std(correction=0)
    dead = DEAD[kind](h) if kind in DEAD else small
    size, gradient = h.abs().mean((0, 2)), by_h.abs().mean((0, 2))
    vectors = h.transpose(0, 1).flatten(1)
    same = []
    for one in range(len(vectors)):
        cosines = [torch.cosine_similarity(vectors[one], vectors[other], dim=0, eps=0) for other in range(one)]
        same.append(bool(vectors[one].any()) and any(bool(each >= 0.99) for each in cosines))
    found = {
        "dead_pairs": dead, "dead_units": dead.all(0).all(1), "dormant_units": size <= 0.1 * size.mean(),
        "duplicate_units": torch.tensor(same), "grama_inactive": gradient <= 0.01 * gradient.mean(),
        "zero_gradient_units": (by_z == 0).all(0).all(1),
    }  # fmt: skip
    if slopes is not None:
        own = slopes.reshape(z.shape)
        found |= {"saturated": own.abs() < 1e-3, "slope_probe": own[z < 0]}
    return found


def ranks(features):
    """Means over the feature matrices, a row for each example."""
    found = []
    for own in features:
        values = torch.linalg.svdvals(own.detach().flatten(1))
        share = values / values.sum()
        entropy = -sum(float(p) * float(p.log()) for p in share if p > 0)
        least = next(k for k in range(1, len(values) + 1) if values[:k].sum() >= 0.99 * values.sum())
        found.append([torch.tensor(entropy).exp().item(), float((values / values[0]).square().sum()), least])
    names = ("effective_rank", "stable_rank", "srank")
    return {name: sum(own[at] for own in found) / len(found) for at, name in enumerate(names)}


def of_gradients(module, x, targets, loss, layer):
    """A backward pass for each example."""
    named = dict(module.named_parameters())
    own, rows = [named[name] for name in module.products()], []
    for at in range(len(first(x))):
        one = loss(module.by_hand(part(x, at))[0], part(targets, at))
        rows.append(
            torch.cat([value.flatten() for value in grad(one.sum(), own, allow_unused=True, materialize_grads=True)])
        )
    gradients = torch.stack(rows)
    mean = gradients.mean(0)
    found = {"gradient_snr": (mean.square().sum() / (gradients - mean).square().sum() * (len(rows) - 1)).item()}
    if layer is not None:
        sizes = [value.numel() for value in own]
        weight = gradients.split(sizes, 1)[[*module.products()].index(layer)]
        for name, matrix in (("gradient_rank", weight @ weight.t()), ("gradient_root_rank", weight)):
            values = torch.linalg.svdvals(matrix)
            values = values * (values > values[0] * (1e-13 if name == "gradient_rank" else 3e-7))
            found[name] = next(k for k in range(1, len(values) + 1) if values[:k].sum() >= 0.99 * values.sum())
    return found


@sdpa_kernel(SDPBackend.MATH)
def hessian(module, x, targets, loss, block):
    """The largest eigenvalue of the whole matrix."""
    if block is None:
        return {}
    named = dict(module.named_parameters())
    own = [named[name] for name in block]
    mean, how = loss(module.by_hand(x)[0], targets).mean(), {"allow_unused": True, "materialize_grads": True}
    gradient = torch.cat([each.flatten() for each in grad(mean, own, create_graph=True, **how)])
    rows = []
    for each in gradient:
        if not each.requires_grad:
            rows.append(torch.zeros(len(gradient), dtype=gradient.dtype))
            continue
        found = grad(each, own, retain_graph=True, **how)
        rows.append(torch.cat([value.flatten() for value in found]))
    return {"lambda_max": torch.linalg.eigvalsh(torch.stack(rows)).max().item()}


def first(value):
    """The first tensor."""
    if isinstance(value, torch.Tensor):
        return value
    return first(next(iter(value.values() if isinstance(value, dict) else value)))


def part(value, at):
    """One example."""
    if isinstance(value, torch.Tensor):
        return value[at : at + 1]
    if isinstance(value, dict):
        return {name: part(each, at) for name, each in value.items()}
    return tuple(part(each, at) for each in value)
