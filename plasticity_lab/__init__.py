"""plasticity_lab: why neural networks stop being able to learn, and what keeps them plastic."""

__version__ = "0.1.0"
