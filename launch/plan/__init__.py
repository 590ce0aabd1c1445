"""From runs to packs, by what a kind of device can do."""
