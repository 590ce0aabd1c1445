"""A worker: claims packs, trains them, records their runs, and meets failures."""
