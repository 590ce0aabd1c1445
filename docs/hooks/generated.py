"""The reference that is made from conf/, the classes and the commands, added to the pages of the site."""

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parents[2]))  # for docs.generate, when mkdocs runs as a program

from docs.generate import options


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the generated pages."""
    for address, text in options.pages().items():
        files.append(File.generated(config, address, content=text))
    return files
