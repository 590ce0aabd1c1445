"""Films: the test episode of each run that `save_video=last` asks for, as a GIF next to the record.

Legend: T frames, C channels or colours, H × W cells or pixels.
"""

import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from plasticity_lab.records.damage import read_file, seal, write_file
from plasticity_lab.records.files import disk_errors
from plasticity_lab.records.record_facts import RERUN
from plasticity_lab.records.store import FILM, Store

SIDE = 160
"""Small frames are enlarged to at least this number of pixels."""
MILLISECONDS = 70
"""Time of a frame: about 1/15 s, as four frames of an Atari game; GIFs count hundredths."""
LAST = 1000
"""Time of the last frame, in milliseconds."""
BOARD = 10
"""The cells of a board's side (`environments.games.board.SIDE`)."""
RGB = 3
COLOURS = ("#161616", "#56B4E9", "#E69F00", "#009E73", "#F0E442", "#4A86E8", "#D55E00", "#CC79A7", "#FFFFFF")
"""The background of a board, and the colour of each channel's objects, which repeat after the last."""


def gif(frames: NDArray[np.uint8]) -> bytes:
    """The film (T, C, H, W) as a looping GIF; the same frames give the same bytes.

    Boards have a colour for each channel, and the first channel with an object is shown. Other frames with three
    channels are RGB; all others are grey.
    """
    pictures = [_picture(frame) for frame in frames]
    file, times = io.BytesIO(), [MILLISECONDS] * (len(pictures) - 1) + [LAST]
    pictures[0].save(file, "GIF", save_all=True, append_images=pictures[1:], duration=times, loop=0)
    return file.getvalue()


def _picture(frame: NDArray[np.uint8]) -> Image.Image:
    if frame.shape[1] == BOARD:
        picture = Image.fromarray(_colours(frame))
        picture.putpalette([int(colour[at : at + 2], 16) for colour in COLOURS for at in (1, 3, 5)])
    else:
        picture = Image.fromarray(np.moveaxis(frame, 0, 2) if len(frame) == RGB else frame.max(axis=0))
    larger = -(-SIDE // min(picture.size))
    return picture.resize((larger * picture.width, larger * picture.height), Image.Resampling.NEAREST)


def _colours(board: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The index in `COLOURS` of each cell of a board (C, H, W)."""
    first = board.argmax(axis=0) % (len(COLOURS) - 1)
    return np.where(board.any(axis=0), first + 1, 0).astype(np.uint8)


def write_pack_films(store: Store, pack: str, films: Sequence[NDArray[np.uint8]]) -> None:
    """Writes the films of a pack's runs, in their order, until their records are written.  Raises StoreError."""
    for k, frames in enumerate(films):
        write_file(store.pack_film(pack, k), gif(frames))


def keep_film(store: Store, pack: str, k: int, run: str) -> dict[str, dict[str, int]]:
    """Writes the film of a pack's k-th run next to its record, before the record.

    Returns the file's name → its seal for the record (see `damage.seal`).  Raises StoreError.
    """
    content = read_file(store.pack_film(pack, k), RERUN)
    if content is None:
        return {}
    write_file(store.film(run), content)
    return {FILM: seal(content)}


def drop_film(store: Store, run: str) -> None:
    """Removes the film of an earlier training, which a new record does not list.  Raises StoreError."""
    with disk_errors("write", store.film(run)):
        store.film(run).unlink(missing_ok=True)
