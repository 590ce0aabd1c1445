"""plasticity_lab: experiments on the loss of plasticity in neural networks, and on methods against it."""

__version__ = "0.1.0"
