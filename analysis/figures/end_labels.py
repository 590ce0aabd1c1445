"""Where the names of lines stand that end close to each other."""

from collections.abc import Sequence


def spread(wanted: Sequence[float], apart: float) -> list[float]:
    """Places in the order given, each as near to where it is wanted as may be, at least so far apart, within 0 and 1.

    Where there is no room for all of them within 0 and 1, they keep their distance and reach beyond.
    """
    order = sorted(range(len(wanted)), key=lambda at: wanted[at])
    # Groups of names that touch: each stands around the mean of where its names want to be.
    groups: list[list[int]] = []
    for at in order:
        groups.append([at])
        while len(groups) > 1 and _top(groups[-2], wanted, apart) + apart > _bottom(groups[-1], wanted, apart):
            last = groups.pop()
            groups[-1] += last
    places = [0.0] * len(wanted)
    for group in groups:
        for number, at in enumerate(group):
            places[at] = _bottom(group, wanted, apart) + number * apart
    return places


def _bottom(group: Sequence[int], wanted: Sequence[float], apart: float) -> float:
    length = (len(group) - 1) * apart
    middle = sum(wanted[at] for at in group) / len(group)
    return max(0.0, min(middle - length / 2, 1.0 - length))


def _top(group: Sequence[int], wanted: Sequence[float], apart: float) -> float:
    return _bottom(group, wanted, apart) + (len(group) - 1) * apart
