"""Heads: the layers between an encoder's feature map and the outputs."""
