"""Interventions that keep a run plastic: penalties, and changes after updates, periodically, or between tasks."""
