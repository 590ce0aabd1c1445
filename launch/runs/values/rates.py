"""Learning rates are made for an optimizer's steps: whom those of a table or a grid serve, and what to say else."""

from launch.runs.values.place import Place


class Rates:
    """For the places of one command; an option of `hyperparams` names its `optimizers` (none: all)."""

    def __init__(self) -> None:
        self._others: dict[str, str] = {}

    def serve(self, place: Place) -> bool:
        """Whether the option's learning rates are to be used: none is typed, and they are for the place's optimizer.

        An optimizer that they are not for is remembered for `notes`.
        """
        if "optimizer.lr" in place.pinned:
            return False
        optimizer, meant = place.parts["optimizer"].name, place.rule.extras["optimizers"]
        if meant is None or optimizer in meant:
            return True
        self._others[optimizer] = " and ".join(meant)
        return False

    def notes(self) -> list[str]:
        """The optimizers that they do not serve, in one line each."""
        return [
            f"hyperparams: the published learning rates are for {meant}; {optimizer} keeps its own, or what "
            "optimizer.lr says."
            for optimizer, meant in self._others.items()
        ]
