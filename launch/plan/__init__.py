"""Plans packs of runs for a kind of device, by its measured speed and memory."""
