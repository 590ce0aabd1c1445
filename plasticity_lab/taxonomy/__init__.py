"""The properties of activations as functions (from φ, φ′ and φ″), as data for analysis, which imports no activation."""
