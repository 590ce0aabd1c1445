"""Atari games: ale-py's emulator and its own pictures, each episode a function of its seed and its actions."""
