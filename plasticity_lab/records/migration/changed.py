"""What a migration has done, or would do: counted by kind of file, with the files that it could not read."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Changed:
    """today, old: kind of file («record», «plan», «checkpoint») → how many were in today's format, and in an old one.

    unreadable: a sentence for each file that could not be read.
    """

    today: Counter[str] = field(default_factory=Counter)
    old: Counter[str] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)
