"""Networks, written once for any number of runs: layers from `stacking`, activations handed in."""
