"""Old addresses of pages lead to the new ones: `extra.moved` of mkdocs.yml lists them."""

import os
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Moved</title><link rel="canonical" href="{to}">
<meta name="robots" content="noindex"><meta http-equiv="refresh" content="0; url={to}">
<script>location.replace("{to}" + location.hash)</script></head>
<body><a href="{to}">This page has moved.</a></body></html>
"""


def on_post_build(config: MkDocsConfig) -> None:
    """Writes a page that leads on at each old address, `x.html` and `x/`.  Raises PluginError if one is missing."""
    site = Path(config.site_dir)
    for folder, addresses in config.extra["moved"].items():
        for old in addresses:
            new = f"{folder}/{PurePosixPath(old).name}.html"
            if not (site / new).is_file():
                raise PluginError(f"extra.moved of docs/mkdocs.yml: {old} has moved to {new}, which is not there")
            for address in (f"{old}.html", f"{old}/index.html"):
                path = site / address
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(PAGE.format(to=os.path.relpath(new, PurePosixPath(address).parent)), encoding="utf-8")
