"""The references of options, and of everything that a store's runs used, as BibTeX."""
