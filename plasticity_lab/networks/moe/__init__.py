"""Mixtures of experts: how tokens are given to the experts' slots, and what the slots give back to the tokens."""
