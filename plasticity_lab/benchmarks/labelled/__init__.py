"""Labelled images, task after task: which images, labels and pixel orders a classifier meets, and in which order."""
