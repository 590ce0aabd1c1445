"""Packs that could not be trained whole: in their place stand their halves, in every plan that has them.

Dividing changes no number of any run. It is written down once in the store, and may happen to a half again.
"""

from collections.abc import Iterable

from launch.planner import Pack
from plasticity_lab.records.files import names
from plasticity_lab.records.store import Store


def in_parts(store: Store, packs: Iterable[Pack]) -> list[Pack]:
    """The packs, in place of the divided ones their halves.  Raises StoreError."""
    divided = set(names(store.divided_folder))

    def parts(pack: Pack) -> list[Pack]:
        return [part for half in pack.halves() for part in parts(half)] if pack.id in divided else [pack]

    return [part for pack in packs for part in parts(pack)]
