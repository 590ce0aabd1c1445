"""Figures of the papers, figures of any runs, and the course of one run."""
