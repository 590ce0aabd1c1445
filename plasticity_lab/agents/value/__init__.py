"""Agents that learn the value of actions from a replay memory: what their learner is made of."""
