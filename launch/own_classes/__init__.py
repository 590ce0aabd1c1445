"""Classes from outside the package, checked before their first pack: names of verbs, shapes, and packed = alone."""
