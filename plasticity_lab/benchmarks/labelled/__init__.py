"""Benchmarks of labelled images: sequences of tasks, each with its images, labels and pixel order."""
