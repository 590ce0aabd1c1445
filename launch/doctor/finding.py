"""What the doctor has found: a sentence each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from plasticity_lab.errors import PlasticityError

OK, FAILS, UNKNOWN = "ok", "fails", "unknown"


@dataclass(frozen=True)
class Finding:
    """state: ok | fails | unknown. words: what was looked at, and what to do where it would fail."""

    state: str
    words: str


def attempt(question: Callable[[], str]) -> Finding:
    """ok with what the question answers, or fails with the sentence of its error."""
    try:
        return Finding(OK, question())
    except PlasticityError as error:
        return Finding(FAILS, str(error))


def show(place: str, findings: Sequence[Finding]) -> None:
    """Prints them under the name of the place they hold for."""
    print(f"{place}:", flush=True)
    for finding in findings:
        print(f"  {finding.state:<11}  {finding.words}", flush=True)
