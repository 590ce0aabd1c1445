"""A trained network from the store, to inspect it, measure it or act with it.

from plasticity_lab.saved_network import load_network

network = load_network("store", "0123456789ab")   # trained with save_weights=final
logits = network(images, task=3)["logits"]         # a classifier's, in the pixel order of its fourth task
action = network.act(observation)                  # a policy's most likely one, scaled as in training
"""

from plasticity_lab.saved_network.classifier import SavedClassifier
from plasticity_lab.saved_network.loading import load_network
from plasticity_lab.saved_network.network import SavedNetwork
from plasticity_lab.saved_network.policy import SavedPolicy

__all__ = ["SavedClassifier", "SavedNetwork", "SavedPolicy", "load_network"]
