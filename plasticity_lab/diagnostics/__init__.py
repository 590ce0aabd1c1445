"""What looks at a pack while it learns: a view of it goes in, columns come out, and no number of it changes."""
