"""Command lines of argparse: an empty word is refused, before it means the current folder, or nothing."""

from collections.abc import Sequence

from plasticity_lab.errors import ConfigError


def check_words(given: Sequence[str]) -> None:
    """Raises ConfigError for an empty word, as the shell makes one of "$NAME" if NAME is not set."""
    for before, word in zip(["", *given], given, strict=False):
        option, equals, value = word.partition("=")
        if not word.strip():
            named = before if before.startswith("-") and "=" not in before else ""
        elif option.startswith("--") and equals and not value.strip():
            named = option
        else:
            continue
        raise ConfigError(
            f"{named or 'A word of the command'} is empty, as if a shell variable is not set; give it a value, or "
            "leave it out."
        )
