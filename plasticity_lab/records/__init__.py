"""What a run leaves behind, and where: identity, journal, record, checkpoints, provenance and the one way to write."""
