"""The same step in JAX, in its usual style: jit, scan over steps, vmap over runs if that pays, Adam by hand.

Imported only if JAX is installed.

Legend: K runs, N images, D pixels, S steps, B examples of a batch.
"""

import os
from functools import partial
from typing import Any

import numpy as np

# One thread, as every contender has on a CPU; read when jax is imported.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")

import jax  # pyright: ignore[reportMissingImports]: in the extra `bench`
import jax.numpy as jnp  # pyright: ignore[reportMissingImports]

from plasticity_lab.agents.supervised.workload import L2_INIT, LEARNING_RATE, WHITE, Data, Workload

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
LOWER, UPPER = 0.125, 0.333
KERNEL = 5

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


def mlp(weights: Any, x: Any, activated: Any) -> Any:
    """x (B, D) → logits."""
    for site, name in enumerate(("hidden1", "hidden2")):
        x = activated(site, linear(weights[name], x))
    return linear(weights["output"], x)


def cnn(weights: Any, x: Any, activated: Any) -> Any:
    """x (B, D), channel by channel → logits."""
    x = x.reshape(len(x), 3, 32, 32).transpose(0, 2, 3, 1)
    for site, name in enumerate(("conv1", "conv2")):
        weight, bias = weights[name]
        dimensions = jax.lax.conv_dimension_numbers(x.shape, weight.shape, ("NHWC", "HWIO", "NHWC"))
        x = jax.lax.conv_general_dilated(x, weight, (1, 1), "VALID", dimension_numbers=dimensions) + bias
        x = max_pooled(activated(site, x))
    x = x.transpose(0, 3, 1, 2).reshape(len(x), -1)
    for site, name in enumerate(("hidden1", "hidden2"), start=2):
        x = activated(site, linear(weights[name], x))
    return linear(weights["output"], x)


def max_pooled(x: Any) -> Any:
    """(B, H, W, C) → (B, H/2, W/2, C), H and W even: as a maximum over axes faster than as a window's, 1.5× in all."""
    count, rows, columns, channels = x.shape
    return x.reshape(count, rows // 2, 2, columns // 2, 2, channels).max((2, 4))


def linear(layer: Any, x: Any) -> Any:
    """x (B, I) → (B, O)."""
    weight, bias = layer
    return x @ weight + bias


NETWORKS = {"mlp": mlp, "cnn": cnn}


class JaxPeer:
    """A pack of `width` runs of a workload."""

    def __init__(self, workload: Workload, width: int) -> None:
        data = workload.data(width)
        weights = first_weights(data)
        zeros = jax.tree.map(jnp.zeros_like, weights)
        self.state = weights, zeros, jax.tree.map(jnp.zeros_like, weights)
        self.first = jax.tree.map(jnp.copy, weights)
        self.images, self.labels = jnp.asarray(data.images.numpy()), jnp.asarray(data.labels.numpy(), jnp.int32)
        self.batches = data.batches.swapaxes(0, 1).astype(np.int32)
        self.keys = jax.vmap(jax.random.key)(jnp.arange(width))
        self.updates = 0
        self.chunk = chunk_of(workload)
        self.run_steps = width * workload.burst

    def burst(self) -> dict[str, np.ndarray]:
        """The steps: "loss" and "accuracy", (S, K)."""
        steps = len(self.batches)
        t = np.arange(self.updates + 1, self.updates + steps + 1)
        corrections = (LEARNING_RATE / (1 - BETA1**t)).astype(np.float32), (1 - BETA2**t).astype(np.float32) ** -0.5
        self.state, (losses, accuracies) = self.chunk(
            self.state, self.first, self.images, self.labels, self.keys, (self.batches, t.astype(np.int32), corrections)
        )
        self.updates += steps
        return {"loss": np.asarray(losses), "accuracy": np.asarray(accuracies)}


def first_weights(data: Data) -> dict[str, Any]:
    """The engine's first weights: name → (weight, bias), convolutions as (K, rows, columns, C, O); the slope (K,)."""
    weights: dict[str, Any] = {}
    for name, (weight, bias) in data.layers.items():
        if name.startswith("conv"):
            weight = weight.unflatten(1, (-1, KERNEL, KERNEL)).permute(0, 2, 3, 1, 4)
        weights[name] = jnp.asarray(weight.numpy()), jnp.asarray(bias.numpy())
    slope = {} if data.slope is None else {"slope": jnp.asarray(data.slope.numpy())}
    return weights | slope


def chunk_of(workload: Workload) -> Any:
    """The function of a whole chunk: jit of a scan over steps of a vmap over runs, but for the CNN on CPU.

    Takes state, first weights, images, labels, keys and the steps' tables; returns the state and (losses, accuracies).
    """

    def logits_of(weights: Any, x: Any, key: Any) -> Any:
        def activated(site: int, z: Any) -> Any:
            uniform = partial(jax.random.uniform, jax.random.fold_in(key, site), z.shape)
            return FUNCTIONS[workload.activation](z, weights.get("slope"), uniform)

        return NETWORKS[workload.network](weights, x, activated)

    def loss_of(weights: Any, first: Any, x: Any, labels: Any, key: Any) -> Any:
        logits = logits_of(weights, x, key)
        loss = -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1).mean()
        accuracy = (logits.argmax(axis=1) == labels).mean()
        if workload.intervention == "l2_init":
            pulls = jax.tree.map(lambda value, start: ((value - start) ** 2).sum(), weights, first)
            return loss + L2_INIT * sum(jax.tree.leaves(pulls)), (loss, accuracy)
        return loss, (loss, accuracy)

    def step_of_one(state: Any, first: Any, images: Any, labels: Any, key: Any, batch: Any, t: Any, now: Any) -> Any:
        weights, moments1, moments2 = state
        size, root = now
        x = images[batch].astype(jnp.float32) / WHITE
        step_key = jax.random.fold_in(key, t)
        gradients, rows = jax.grad(loss_of, has_aux=True)(weights, first, x, labels[batch], step_key)
        moments1 = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, moments1, gradients)
        moments2 = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, moments2, gradients)
        weights = jax.tree.map(
            lambda value, m, v: value - size * m / (jnp.sqrt(v) * root + EPSILON), weights, moments1, moments2
        )
        return (weights, moments1, moments2), rows

    return _scanned(step_of_one) if workload.network == "mlp" or platform() != "cpu" else _one_by_one(step_of_one)


def _scanned(step_of_one: Any) -> Any:
    step_of_all = jax.vmap(step_of_one, in_axes=(0, 0, 0, 0, 0, 0, None, None))

    def chunk(state: Any, first: Any, images: Any, labels: Any, keys: Any, tables: Any) -> Any:
        def step(state: Any, row: Any) -> Any:
            return step_of_all(state, first, images, labels, keys, *row)

        return jax.lax.scan(step, state, tables)

    return jax.jit(chunk, donate_argnums=0)


def _one_by_one(step_of_one: Any) -> Any:
    """Steps in Python, runs unrolled: on CPU XLA convolves eight times slower inside a scan, and three under a vmap."""

    def step_of_each(state: Any, first: Any, images: Any, labels: Any, keys: Any, batch: Any, t: Any, now: Any) -> Any:
        stacked = state, first, images, labels, keys, batch
        runs = [jax.tree.map(lambda value, k=k: value[k], stacked) for k in range(len(keys))]
        return jax.tree.map(lambda *values: jnp.stack(values), *(step_of_one(*run, t, now) for run in runs))

    step = jax.jit(step_of_each, donate_argnums=0)

    def chunk(state: Any, first: Any, images: Any, labels: Any, keys: Any, tables: Any) -> Any:
        rows = []
        for row in range(len(tables[0])):
            now = jax.tree.map(lambda table, row=row: table[row], tables)
            state, measured = step(state, first, images, labels, keys, *now)
            rows.append(measured)
        return state, jax.tree.map(lambda *values: jnp.stack(values), *rows)

    return chunk


def platform() -> str:
    """The platform that JAX computes on here: cpu, gpu, tpu."""
    return jax.default_backend()
