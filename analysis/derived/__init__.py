"""What the laboratory derives of the activations, as data: analysis imports no activation."""
