"""The activations, one family a file. conf/activation/*.yaml names their classes; there is no other list."""
