"""The reference that is made from conf/, the classes and the commands, added to the pages of the site."""

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parents[2]))  # for docs.generate, when mkdocs runs as a program

from docs.generate import columns, commands, options, python

LINKS = """

## Made from the code

- [Options](options/index.md): every group of `conf/`, each option and its settings with type, default, range and
  meaning; the [settings of every command](options/settings.md).
- [Columns and summaries](columns.md): every number of a run.
- [Commands](commands.md): every command with its arguments.
- Python: [outside the laboratory](python/outside.md), [contracts](python/contracts.md), [records](python/records.md),
  [analysis](python/analysis.md).
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the generated pages."""
    for address, text in {**options.pages(), **columns.pages(), **commands.pages(), **python.pages()}.items():
        files.append(File.generated(config, address, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Adds links to the generated pages at the end of the index of the reference; the file is read on GitHub, too."""
    return markdown + LINKS if page.file.src_uri == "reference/index.md" else markdown
