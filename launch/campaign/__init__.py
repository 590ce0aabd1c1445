"""Campaigns: a prepared list of measurements and studies, for a borrowed GPU."""
