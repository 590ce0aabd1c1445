"""Image sets: where they come from, how they are downloaded and verified. sources.py lists them."""
