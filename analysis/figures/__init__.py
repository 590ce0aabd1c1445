"""What is drawn: the papers' figures, figures of any runs, and the course of one run."""
