"""The committed mutants: small wrong changes of the laboratory, each with the tests that must notice it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("list.yaml")


@dataclass(frozen=True)
class Mutant:
    """One wrong change.

    file: the path from the root of the tree. before: a text that occurs exactly once in it. after: the text that
    replaces it. rule: a sentence, which rule the change breaks. tests: files, folders or node ids. survives: the reason
    why no test kills it; empty for a mutant that must be killed.
    """

    name: str
    file: str
    before: str
    after: str
    rule: str
    tests: Sequence[str]
    survives: str = ""

    def applied(self, text: str) -> str:
        """The text of the file with the change.  Raises ValueError if `before` does not occur exactly once."""
        if (found := text.count(self.before)) != 1:
            raise ValueError(f"{self.name}: the text before occurs {found} times in {self.file}; it must occur once.")
        return text.replace(self.before, self.after)


def all_mutants() -> list[Mutant]:
    """The mutants of list.yaml, in its order."""
    return [Mutant(**each) for each in yaml.safe_load(LIST.read_text())]
