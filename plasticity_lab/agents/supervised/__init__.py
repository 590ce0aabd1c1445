"""The supervised agent: a classifier, one optimizer step for each batch that arrives."""
