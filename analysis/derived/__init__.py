"""Properties and curves of activations as data, and their reader."""
