"""How many places a window has along one side of an image, and what is laid around the image for them."""

PADDINGS = ("valid", "same")


def places(side: int, size: int, stride: int, padding: str) -> int:
    """At how many places a window of `size` pixels stands along a side, in steps of `stride`; below 1: at none.

    valid: only where all of it lies on the image. same: as JAX and TensorFlow have it, side / stride, rounded up.
    """
    return -(-side // stride) if padding == "same" else (side - size) // stride + 1


def margins(side: int, size: int, stride: int, padding: str) -> tuple[int, int]:
    """The pixels that are laid before and behind a side, so that the window has its `places`.

    valid: none. same: as many as are needed, half of them on either side, and an odd one behind; PyTorch's layers,
    which take one number for both sides, see other pixels there.
    """
    if padding == "valid":
        return 0, 0
    needed = max((places(side, size, stride, padding) - 1) * stride + size - side, 0)
    return needed // 2, needed - needed // 2
