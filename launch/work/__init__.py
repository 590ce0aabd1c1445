"""A worker: it claims packs, trains them, records their runs and handles failures."""
