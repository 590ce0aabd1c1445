"""Proximal policy optimisation (Schulman et al. 2017). docs/agents/ppo.md says where each detail comes from."""
