"""Makes softmoe.npz: what flax makes of tokens by a SoftMoE, and its gradients; see make_flax.py for how to run it.

Equations 1 to 3 of Puigcerver et al. 2024, in flax's own layers; the experts are flax's Dense, mapped over them.
"""

from pathlib import Path

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np

from tests.networks.reference import softmoe_numbers as numbers


class SoftMoE(nn.Module):
    """One example's tokens (M, D) → (M, D)."""

    experts: int
    slots: int
    normalised: bool

    @nn.compact
    def __call__(self, x):
        phi = self.param("phi", nn.initializers.lecun_normal(), (x.shape[-1], self.experts, self.slots))
        given, mixing = x, phi
        if self.normalised:
            scalar = self.param("scalar", nn.initializers.ones, (1,))
            given = x / (jnp.linalg.norm(x, axis=-1, keepdims=True) + 1e-6)
            mixing = scalar * phi / (jnp.linalg.norm(phi, axis=0, keepdims=True) + 1e-6)
        logits = jnp.einsum("md,dnp->mnp", given, mixing)
        dispatch, combine = nn.softmax(logits, axis=0), nn.softmax(logits, axis=(1, 2))
        mapped = nn.vmap(nn.Dense, variable_axes={"params": 0}, split_rngs={"params": True})
        h = nn.relu(mapped(numbers.HIDDEN, name="hidden")(jnp.einsum("md,mnp->npd", x, dispatch)))
        made = mapped(x.shape[-1], name="output")(h)
        return jnp.einsum("npd,mnp->md", made, combine)


def main() -> None:
    """Writes the file."""
    jax.config.update("jax_enable_x64", True)  # the reference is exact, so what differs is ours
    found = {}
    for case, (experts, slots, normalised) in numbers.CASES.items():
        module = SoftMoE(experts, slots, normalised)
        tokens = jnp.asarray(numbers.tokens(case), jnp.float64)
        start = module.init(jax.random.PRNGKey(0), tokens[0])["params"]
        ours = numbers.parameters(case)
        params = {
            "phi": ours["router.weight"].reshape(start["phi"].shape),
            "hidden": {"kernel": ours["experts.hidden.weight"], "bias": ours["experts.hidden.bias"]},
            "output": {"kernel": ours["experts.output.weight"], "bias": ours["experts.output.bias"]},
            **({"scalar": ours["router.scalar"]} if normalised else {}),
        }
        assert jax.tree.map(jnp.shape, params) == jax.tree.map(jnp.shape, start)
        params = jax.tree.map(lambda value: jnp.asarray(value, jnp.float64), params)

        def total(params, tokens, module=module, case=case):
            made = jax.vmap(lambda one: module.apply({"params": params}, one))(tokens)
            return jnp.sum(made * numbers.slope(case)), made

        (by_params, by_tokens), made = jax.grad(total, argnums=(0, 1), has_aux=True)(params, tokens)
        found |= {f"{case} made": made, f"{case} tokens": by_tokens}
        found[f"{case} router.weight"] = by_params["phi"].reshape(tokens.shape[-1], -1)
        for layer in ("hidden", "output"):
            found[f"{case} experts.{layer}.weight"] = by_params[layer]["kernel"]
            found[f"{case} experts.{layer}.bias"] = by_params[layer]["bias"]
        if normalised:
            found[f"{case} router.scalar"] = by_params["scalar"]
    np.savez_compressed(
        Path(__file__).parent / "softmoe.npz", **{name: np.asarray(each) for name, each in found.items()}
    )


if __name__ == "__main__":
    main()
