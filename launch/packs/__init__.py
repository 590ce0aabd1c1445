"""How a sweep's packs stand in the store: who holds them, how far they are, how they ended, what is left."""
