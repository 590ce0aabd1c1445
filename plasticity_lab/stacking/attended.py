"""The linear layer behind an attention, for all runs of a pack."""

from dataclasses import dataclass

from plasticity_lab.stacking.linear import StackedLinear


@dataclass(frozen=True)
class StackedAttended(StackedLinear):
    """A linear map of the heads together; its work includes the attention in front of it.

    That is queries times keys, and shares times values, for all heads of an example.
    """

    @property
    def work(self) -> int:
        """Multiplications that one example takes forward."""
        return super().work + 2 * self.positions**2 * self.inputs
