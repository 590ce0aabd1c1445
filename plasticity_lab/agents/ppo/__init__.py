"""Proximal policy optimisation (Schulman et al. 2017).

docs/pages/reference/agents/ppo.md gives the source of each detail.
"""
