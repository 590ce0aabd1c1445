"""Classes from outside the package, checked before their first pack: names of methods, shapes, and packed = alone."""
