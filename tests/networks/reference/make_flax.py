"""Makes flax.npz: outputs and gradients of the encoders as flax has them.

flax and JAX are no dependency. In an environment of its own, from the root of the repository:
pip install "jax[cpu]" flax && python -m tests.networks.reference.make_flax
"""

from pathlib import Path

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from tests.networks.reference import numbers


class Nature(nn.Module):
    """Dopamine's: padding SAME, which is flax's default."""

    @nn.compact
    def __call__(self, x):
        for n, (channels, kernel, stride) in enumerate(((32, 8, 4), (64, 4, 2), (64, 3, 1)), start=1):
            x = nn.relu(nn.Conv(channels, (kernel, kernel), (stride, stride), name=f"conv{n}")(x))
        h = nn.relu(nn.Dense(numbers.HIDDEN, name="hidden1")(x.reshape(len(x), -1)))
        return nn.Dense(numbers.ACTIONS, name="q")(h)


class Impala(nn.Module):
    """Dopamine's."""

    channels: tuple
    pooled: bool = True

    @nn.compact
    def __call__(self, x):
        for n, channels in enumerate(self.channels, start=1):
            x = nn.Conv(channels, (3, 3), name=f"stack{n}.conv")(x)
            if self.pooled:
                x = nn.max_pool(x, (3, 3), strides=(2, 2), padding="SAME")
            for block in (f"stack{n}.block{m}" for m in (1, 2)):
                h = nn.Conv(channels, (3, 3), name=f"{block}.conv1")(nn.relu(x))
                x = x + nn.Conv(channels, (3, 3), name=f"{block}.conv2")(nn.relu(h))
        h = nn.relu(nn.Dense(numbers.HIDDEN, name="hidden")(nn.relu(x).reshape(len(x), -1)))
        return nn.Dense(numbers.ACTIONS, name="q")(h)


MODULES = {  # and the rows, columns and channels before the hidden layer
    "nature": (Nature(), (11, 11, 64)),
    "impala": (Impala((16, 32, 32)), (11, 11, 32)),
    "small_impala": (Impala((16,)), (5, 5, 16)),
    "small_impala_100": (Impala((16,), pooled=False), (10, 10, 16)),
}


def main() -> None:
    """Writes the file."""
    jax.config.update("jax_enable_x64", True)  # the reference is exact, so what differs is ours
    found = {}
    for case, (module, maps) in MODULES.items():
        x = jnp.asarray(numbers.images(case).transpose(0, 2, 3, 1), jnp.float64)
        start = module.init(jax.random.PRNGKey(0), x)["params"]

        def ours(layer, kernel, maps=maps):
            """flax's kernel → (I, O), channel by channel."""
            if kernel.ndim == 4:
                kernel = kernel.transpose(2, 0, 1, 3)
            elif layer.startswith("hidden"):
                kernel = kernel.reshape(*maps, -1).transpose(2, 0, 1, 3)
            return kernel.reshape(-1, kernel.shape[-1])

        def theirs(layer, weight, kernel, maps=maps):
            """(I, O) → flax's kernel."""
            if kernel.ndim == 4:
                rows, columns, channels, _ = kernel.shape
                return weight.reshape(channels, rows, columns, -1).transpose(1, 2, 0, 3)
            if layer.startswith("hidden"):
                rows, columns, channels = maps
                return weight.reshape(channels, rows, columns, -1).transpose(1, 2, 0, 3).reshape(kernel.shape)
            return weight

        parameters = {}
        for layer, own in start.items():
            inputs, outputs = int(np.prod(own["kernel"].shape[:-1])), own["kernel"].shape[-1]
            weight = theirs(layer, numbers.weight(case, layer, inputs, outputs), own["kernel"])
            bias = numbers.bias(case, layer, outputs)
            parameters[layer] = {"kernel": jnp.asarray(weight, jnp.float64), "bias": jnp.asarray(bias, jnp.float64)}

        def loss(own, module=module, x=x, case=case):
            q = module.apply({"params": own}, x)
            return (q * numbers.slope(case)).sum(), q

        gradients, q = jax.grad(loss, has_aux=True)(parameters)
        found[f"{case} q"] = np.asarray(q)
        for layer, own in gradients.items():
            for part, gradient in (
                ("weight", ours(layer, np.asarray(own["kernel"]))),
                ("bias", np.asarray(own["bias"])),
            ):
                name = f"{layer}.{part}"
                found[f"{case} {name}"] = numbers.kept(case, name, gradient)
    np.savez_compressed(Path(__file__).parent / "flax.npz", **found)


if __name__ == "__main__":
    main()
