"""Custom kernels for stacked linear and convolutional layers on a CPU."""
