"""What kind of function an activation is: the properties of Tables A1 and G1, dead bands, floors, kinks and curves.

Each is computed from φ, φ′ and φ″ in float64. `python -m plasticity_lab.taxonomy derive` writes them for analysis,
which imports no activation; `… curves` writes the curves of any activation with any settings.
"""
