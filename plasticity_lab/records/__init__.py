"""The store and its files: ids, journals, records, checkpoints, provenance, and the functions that write them."""
