"""Heads of somebody's own, one with a mistake, and one in order."""

from plasticity_lab.networks.heads.dense import Flatten


class Thrice(Flatten):
    """In order: a head."""

    def row(self, maps_KBCHW):
        return 3 * super().row(maps_KBCHW)


class CentredMaps(Flatten):
    def row(self, maps_KBCHW):
        return super().row(maps_KBCHW - maps_KBCHW.mean(dim=0))


IN_ORDER = (Thrice,)
FAULTY = {
    CentredMaps: "pack of 2",
}
