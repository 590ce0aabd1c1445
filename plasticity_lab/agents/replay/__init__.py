"""Groups of classes learned one after another, with or without a memory of earlier ones; or all at once."""
