"""What stands between an encoder's feature map and the outputs."""
