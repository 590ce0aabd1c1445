"""A tutorial as a script: what a reader types from top to bottom, in an empty folder.

Blocks of `bash` and `python` are run. Blocks of `sh` are commands for another terminal, a cluster or a large machine:
`test_pages.py` resolves them, as all commands of all pages. A block of Python or YAML that begins with the name of a
file is that file, in ~/ideas. Blocks of `text` are what a command prints.
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import PAGES_FOLDER, fences, files_of

FOLDER = PAGES_FOLDER / "tutorials"
TUTORIALS = sorted(page.stem for page in FOLDER.glob("*.md") if page.stem != "index")
END = "END_OF_THE_BLOCK"


def script_of(text: str, languages: tuple[str, ...] = ("bash", "python")) -> str:
    """The blocks of a page in these languages as one script of bash, which ends at the first command that fails."""
    lines = ["set -e"]
    for language, content in fences(text):
        if language not in languages or (content.startswith("# ") and content.split("\n")[0].endswith(".py")):
            continue
        lines.append(f"python - <<'{END}'\n{content}{END}" if language == "python" else content)
    return "\n".join(lines)


def typed(page: Path, folder: Path, **environment: str) -> subprocess.CompletedProcess:
    """Types a page's blocks in a new home folder and an empty working folder."""
    for path, content in files_of(page).items():
        (folder / "home" / "ideas" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "home" / "ideas" / path).write_text(content)
    return typed_script(script_of(page.read_text()), folder, **environment)


def typed_script(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess:
    """Types a script in ~/lab, with the home folder `folder/home`."""
    home = folder / "home"
    work = home / "lab"
    work.mkdir(parents=True, exist_ok=True)
    dropped = ("PLASTICITY_STORE", "PYTHONPATH")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    here = {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        # Compiled code is where it always is: another home would compile it again.
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
        "WANDB_MODE": "disabled",
        "COLUMNS": "200",
        **environment,
    }
    return subprocess.run(["bash", "-c", script], cwd=work, env=kept | here, capture_output=True, text=True)


def printed_words(text: str) -> list[str]:
    """The lines of a page's blocks of `text`, up to the first digit or gap: the part that each machine prints."""
    shown = [line for language, content in fences(text) if language == "text" for line in content.splitlines()]
    cut = (" ".join(line.split()).split("…")[0] for line in shown)
    heads = ("".join(_until_digit(line)).strip() for line in cut)
    return [head for head in heads if head]


def _until_digit(line: str):
    for sign in line:
        if sign.isdigit():
            return
        yield sign
