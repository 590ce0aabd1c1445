"""Acting in environments, shared by all agents: networks, random draws, test episodes and costs."""
