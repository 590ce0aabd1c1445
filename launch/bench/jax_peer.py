"""The same step in JAX, as one writes it there: jit of a scan over steps of a vmap over runs, Adam by hand.

Imported only where JAX is installed.

Legend: K runs, N images, D pixels, S steps, B examples of a batch.
"""

import os
from typing import Any

import numpy as np

# One thread, as every contender has on a CPU; read when jax is imported.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import jax
import jax.numpy as jnp

from launch.bench.workload import L2_INIT, LEARNING_RATE, WHITE, Workload

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
LOWER, UPPER = 0.125, 0.333

FUNCTIONS = {
    "relu": lambda x, slope, uniform: jnp.maximum(x, 0),
    "leaky_relu": lambda x, slope, uniform: jnp.where(x > 0, x, 0.01 * x),
    "rrelu": lambda x, slope, uniform: jnp.where(x > 0, x, (LOWER + (UPPER - LOWER) * uniform()) * x),
    "prelu": lambda x, slope, uniform: jnp.where(x > 0, x, slope * x),
    "sigmoid": lambda x, slope, uniform: jax.nn.sigmoid(x),
    "tanh": lambda x, slope, uniform: jnp.tanh(x),
    "swish": lambda x, slope, uniform: jax.nn.silu(x),
    "gelu": lambda x, slope, uniform: jax.nn.gelu(x, approximate=False),
    "elu": lambda x, slope, uniform: jax.nn.elu(x),
    "celu": lambda x, slope, uniform: jax.nn.celu(x),
}


class JaxPeer:
    """A pack of `width` runs of a workload."""

    def __init__(self, workload: Workload, width: int) -> None:
        data = workload.data(width)
        weights = first_weights(workload, data.start)
        zeros = jax.tree.map(jnp.zeros_like, weights)
        self.state = weights, zeros, jax.tree.map(jnp.zeros_like, weights)
        self.first = jax.tree.map(jnp.copy, weights)
        self.images, self.labels = jnp.asarray(data.images.numpy()), jnp.asarray(data.labels.numpy(), jnp.int32)
        self.batches = jnp.asarray(data.batches.swapaxes(0, 1), jnp.int32)
        self.keys = jax.vmap(jax.random.key)(jnp.arange(width))
        self.updates = 0
        self.chunk = chunk_of(workload)
        self.run_steps = width * workload.burst

    def burst(self) -> dict[str, np.ndarray]:
        """The steps: "loss" and "accuracy", (S, K)."""
        steps = len(self.batches)
        t = np.arange(self.updates + 1, self.updates + steps + 1)
        corrections = (LEARNING_RATE / (1 - BETA1**t)).astype(np.float32), (1 - BETA2**t).astype(np.float32) ** -0.5
        self.state, rows = self.chunk(
            self.state, self.first, self.images, self.labels, self.keys, (self.batches, t.astype(np.int32), corrections)
        )
        self.updates += steps
        return {name: np.asarray(values) for name, values in rows.items()}


def first_weights(workload: Workload, start: dict[str, Any]) -> dict[str, Any]:
    """The engine's first weights without padding: layers of (weight, bias), and the slope (K,) where one is learned."""
    layers = []
    for name in (name.removesuffix(".weight") for name in start if name.endswith(".weight")):
        outputs = workload.setting.classes if name == "output" else 100
        weight, bias = start[f"{name}.weight"].numpy(), start[f"{name}.bias"].numpy()
        layers.append((jnp.asarray(weight[..., :outputs]), jnp.asarray(bias[:, 0, :outputs])))
    slope = {name: jnp.asarray(value.numpy()[:, 0]) for name, value in start.items() if name == "activation.slope"}
    return {"layers": layers, "slope": slope.get("activation.slope")}


def chunk_of(workload: Workload) -> Any:
    """The compiled function of a whole chunk."""
    function = FUNCTIONS[workload.activation]

    def logits_of(weights: Any, x: Any, key: Any) -> Any:
        for layer, (weight, bias) in enumerate(weights["layers"][:-1]):
            z = x @ weight + bias
            x = function(z, weights["slope"], lambda z=z, layer=layer: draws(key, layer, z.shape))
        weight, bias = weights["layers"][-1]
        return x @ weight + bias

    def loss_of(weights: Any, first: Any, x: Any, labels: Any, key: Any) -> Any:
        logits = logits_of(weights, x, key)
        loss = -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1).mean()
        accuracy = (logits.argmax(axis=1) == labels).mean()
        if workload.l2_init:
            pulls = jax.tree.map(lambda value, start: ((value - start) ** 2).sum(), weights, first)
            return loss + L2_INIT * sum(jax.tree.leaves(pulls)), (loss, accuracy)
        return loss, (loss, accuracy)

    def step_of_one(state: Any, first: Any, images: Any, labels: Any, key: Any, batch: Any, t: Any, now: Any) -> Any:
        weights, moments1, moments2 = state
        size, root = now
        x = images[batch].astype(jnp.float32) / WHITE
        own = jax.random.fold_in(key, t)
        gradients, rows = jax.grad(loss_of, has_aux=True)(weights, first, x, labels[batch], own)
        moments1 = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, moments1, gradients)
        moments2 = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, moments2, gradients)
        weights = jax.tree.map(
            lambda value, m, v: value - size * m / (jnp.sqrt(v) * root + EPSILON), weights, moments1, moments2
        )
        return (weights, moments1, moments2), rows

    step_of_all = jax.vmap(step_of_one, in_axes=(0, 0, 0, 0, 0, 0, None, None))

    def chunk(state: Any, first: Any, images: Any, labels: Any, keys: Any, tables: Any) -> Any:
        def step(state: Any, row: Any) -> Any:
            return step_of_all(state, first, images, labels, keys, *row)

        state, (losses, accuracies) = jax.lax.scan(step, state, tables)
        return state, {"loss": losses, "accuracy": accuracies}

    return jax.jit(chunk, donate_argnums=0)


def platform() -> str:
    """What JAX computes on here: cpu, gpu, tpu."""
    return jax.default_backend()


def draws(key: Any, layer: int, shape: tuple[int, ...]) -> Any:
    """Uniform numbers of one layer at one step of one run."""
    return jax.random.uniform(jax.random.fold_in(key, layer), shape)
