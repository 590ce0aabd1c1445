"""Kernels of our own for stacked linear and convolutional layers on a CPU."""
