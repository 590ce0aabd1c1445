"""What kind of function an activation is, by φ, φ′ and φ″, as data for analysis, which imports no activation."""
