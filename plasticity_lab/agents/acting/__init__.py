"""Acting in environments, whatever the agent: its network, its draws, tested episodes, what steps cost."""
