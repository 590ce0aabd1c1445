"""Image sets: their sources, downloads and checks. sources.py lists the sets."""
