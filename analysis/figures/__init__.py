"""Figures of the papers, figures of any runs, and the curves of one run."""
