"""The parts of agents that learn the values of actions from a replay memory."""
