"""Every random number is a function of (seed, purpose, position): on the host by NumPy, on the device by tensors."""
