"""The state of a sweep's packs in the store: their holders, their progress, their endings and the work that is left."""
