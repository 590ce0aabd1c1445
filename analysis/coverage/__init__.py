"""How often intervals hold what they are of: a simulation with runs whose truth is known."""
