"""Count the private patterns of our prose; end with status 1 if one occurs more often than was committed.

python -m tests.prose                   compares with tests/prose/counts.json; `make lint` does this.  Counts that fell
                                        are written there
python -m tests.prose --since COMMIT    names the lines written since this commit, not since the counts' last one
python -m tests.prose --rates           all kinds for 10,000 words
python -m tests.prose --list KIND       every place of one kind; `--list all` of all kinds
python -m tests.prose --accept          writes the counts also where they rose: say in the commit why they must
"""

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tests.prose.passages import CORPORA, Passage, passages
from tests.prose.patterns import PATTERNS

ROOT = Path(__file__).parents[2]
COUNTS = Path(__file__).with_name("counts.json")
Counts = Mapping[str, Mapping[str, int]]
"""Corpus → kind → how often."""
_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")


def counted(found: Iterable[Passage]) -> Counts:
    """How often each kind occurs in each corpus."""
    counts = {corpus: Counter[str]({kind: 0 for kind in PATTERNS}) for corpus in CORPORA}
    for passage in found:
        for kind, pattern in PATTERNS.items():
            counts[passage.corpus][kind] += sum(1 for _ in pattern.finditer(passage.text))
    return counts


def risen(counts: Counts, committed: Counts) -> list[tuple[str, str, int, int]]:
    """Corpus, kind, committed count, count now: for each kind that occurs more often than was committed."""
    return [
        (corpus, kind, committed.get(corpus, {}).get(kind, 0), count)
        for corpus, kinds in counts.items()
        for kind, count in kinds.items()
        if count > committed.get(corpus, {}).get(kind, 0)
    ]


def main() -> int:
    """Read all prose, compare, and write counts that fell."""
    parser = argparse.ArgumentParser(prog="python -m tests.prose", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rates", action="store_true", help="print all kinds for 10,000 words")
    parser.add_argument(
        "--list", choices=[*PATTERNS, "all"], metavar="KIND", help="print every place of one kind, or of all"
    )
    parser.add_argument("--since", metavar="COMMIT", help="name lines written since this commit, if a count rose")
    parser.add_argument("--accept", action="store_true", help="write counts that rose, too")
    asked = parser.parse_args()
    found = list(passages(ROOT))
    counts = counted(found)
    if asked.list:
        kinds = list(PATTERNS) if asked.list == "all" else [asked.list]
        for passage in found:
            for place in _places(passage, kinds):
                print(place)
        return 0
    if asked.rates:
        _print_rates(found, counts)
        return 0
    committed = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    rises = [] if asked.accept else risen(counts, committed)
    if not rises:
        if counts != committed:
            COUNTS.write_text(json.dumps(counts, indent=1, ensure_ascii=False) + "\n")
            print(f"{COUNTS.relative_to(ROOT)} is written: commit it.")
        return 0
    for corpus, kind, before, now in rises:
        print(f"{corpus}: “{kind}” occurs {now} times, {before} were committed.")
        for place in _new_places(found, corpus, kind, asked.since):
            print(f"  {place}")
    print("Rewrite the new sentences (CONTRIBUTING.md, “How it is written”).")
    return 1


def _places(passage: Passage, kinds: Iterable[str], lines: set[int] | None = None) -> Iterator[str]:
    """Places of the kinds in a passage, as `path:line: text`.  lines: keep only these line numbers."""
    for kind in kinds:
        for match in PATTERNS[kind].finditer(passage.text):
            index = passage.line_at(match.end() - 1)  # a pattern may begin with the end of the sentence before
            if lines is None or passage.first + index in lines:
                yield f"{passage.path}:{passage.first + index}: {passage.lines[index].strip()}"


def _new_places(found: Iterable[Passage], corpus: str, kind: str, since: str | None) -> Iterator[str]:
    """Places of a kind in lines that were written since a commit; None: since the last one of the counts."""
    added = _added_lines(since or _git("log", "-1", "--format=%H", "--", str(COUNTS)).strip() or "HEAD")
    for passage in found:
        if passage.corpus == corpus:
            yield from _places(passage, [kind], added.get(passage.path, set()))


def _added_lines(since: str) -> Mapping[str, set[int]]:
    """Path → numbers of the lines added since a commit.  Untracked files count whole."""
    added: dict[str, set[int]] = {
        path: set(range(1, len((ROOT / path).read_text().splitlines()) + 1))
        for path in _git("ls-files", "--others", "--exclude-standard").splitlines()
        if path.endswith((".py", ".yaml", ".md"))
    }
    path = ""
    for line in _git("diff", "-U0", "--no-prefix", since).splitlines():
        if line.startswith("+++ "):
            path = line.removeprefix("+++ ")
        elif hunk := _HUNK.match(line):
            first, length = int(hunk[1]), int(hunk[2] or 1)
            added.setdefault(path, set()).update(range(first, first + length))
    return added


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout


def _print_rates(found: Iterable[Passage], counts: Counts) -> None:
    words = Counter[str]()
    for passage in found:
        words[passage.corpus] += len(passage.text.split())
    print(f"{'for 10,000 words':32}" + "".join(f"{corpus:>26}" for corpus in CORPORA))
    print(f"{'words':32}" + "".join(f"{words[corpus]:>26,}" for corpus in CORPORA))
    for kind in PATTERNS:
        print(f"{kind:32}" + "".join(f"{counts[corpus][kind] / words[corpus] * 1e4:>26.1f}" for corpus in CORPORA))


if __name__ == "__main__":
    sys.exit(main())
