"""Files of the repository that pages link to, as pages of the site: CONTRIBUTING.md, a measured table, an option.

The links in the sources are those of the repository, so that they work on GitHub too. On the site, files outside of
docs/pages are below `repository/`, and so are the files that they link to. Links to options of conf/, and to its
folders, lead to their pages in the reference.
"""

import os
import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PAGES = "docs/pages"
FOLDER = "repository"
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")
OPTION = re.compile(r"conf/(?:hydra/)?(?!published\b)(\w+)(?:/(\w+)\.yaml)?")
LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".sh": "bash", ".toml": "toml"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds each file outside of docs/pages that a page links to, and those that these link to."""
    left = {f"{PAGES}/{file.src_uri}": file.content_string for file in files.documentation_pages()}
    seen = set(left)
    while left:
        here, text = left.popitem()
        for target in outside(here, text) - seen:
            seen.add(target)
            files.append(_added(target, config))
            if target.endswith(".md"):
                left[target] = (ROOT / target).read_text(encoding="utf-8")
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page with its links out of docs/pages, or from there into it, as addresses of the site."""
    address = page.file.src_uri
    inside = not address.startswith(f"{FOLDER}/")
    return relinked(markdown, f"{PAGES}/{address}" if inside else address.removeprefix(f"{FOLDER}/"))


def outside(here: str, markdown: str) -> set[str]:
    """The files outside of docs/pages that the page `here` links to; all as paths in the repository."""
    targets = {_target(here, path) for _, path, _ in LINK.findall(markdown) if "://" not in path}
    own = {target for target in targets if target.startswith(f"{PAGES}/") or OPTION.fullmatch(target)}
    return {target for target in targets - own if (ROOT / target).is_file()}


def relinked(markdown: str, here: str) -> str:
    """The text of the page `here` with each link to a file of the repository as an address on the site."""

    def address(found: re.Match[str]) -> str:
        target = _target(here, found[2])
        if not (ROOT / target).is_file() and not (OPTION.fullmatch(target) and (ROOT / target).is_dir()):
            return found[0]
        return f"{found[1]}{_relative(here, target)}{found[3] or ''}"

    return LINK.sub(address, markdown)


def _target(here: str, path: str) -> str:
    return os.path.normpath(PurePosixPath(here).parent / path)


def _on_site(path: str) -> str:
    """The place of a file of the repository below the site's pages."""
    if path.startswith(f"{PAGES}/"):
        return path.removeprefix(f"{PAGES}/")
    if option := OPTION.fullmatch(path):
        group, name = option.groups()
        return f"reference/options/{group}.md" + (f"#{name}" if name else "")
    return f"{FOLDER}/{path}" + (".md" if PurePosixPath(path).suffix in LANGUAGES else "")


def _relative(here: str, target: str) -> str:
    return os.path.relpath(_on_site(target), PurePosixPath(_on_site(here)).parent)


def _added(path: str, config: MkDocsConfig) -> File:
    """A page of a Markdown file, a page that shows a file of code, or the file itself."""
    source, language = ROOT / path, LANGUAGES.get(PurePosixPath(path).suffix)
    if language is None and not path.endswith(".md"):
        return File.generated(config, _on_site(path), abs_src_path=str(source))
    text = source.read_text(encoding="utf-8")
    if language is not None:
        text = f"---\nsearch: {{exclude: true}}\n---\n# `{path}`\n\n```{language}\n{text}```\n"
    return File.generated(config, _on_site(path), content=text, inclusion=InclusionLevel.NOT_IN_NAV)
