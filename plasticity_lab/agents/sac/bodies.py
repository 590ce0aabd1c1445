"""The environments of a run of SAC: one kind that shares everything, or several, each with own parts."""

from collections.abc import Iterable, Mapping

from plasticity_lab.agents.acting.objections import different_kinds
from plasticity_lab.environments.body import Body


def with_own_parts(bodies: Mapping[str, Body]) -> dict[str, Body]:
    """The environments that have own inputs, outputs and a temperature, by name.

    All of them if they are of several kinds. Otherwise the first: its parts serve all others too.
    """
    first = next(iter(bodies))
    return {first: bodies[first]} if different_kinds(list(bodies.values())) is None else dict(bodies)


def serving(own: Iterable[str], body: str) -> str:
    """The environment that provides the parts for this one. own: the names from `with_own_parts`."""
    return body if body in own else next(iter(own))
