"""The run axis: layers and optimizers that hold K runs side by side, none reading another."""
