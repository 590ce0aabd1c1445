"""The findings of the doctor, a sentence each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from plasticity_lab.errors import PlasticityError

OK, FAILS, UNKNOWN = "ok", "fails", "unknown"


@dataclass(frozen=True)
class Finding:
    """state: ok | fails | unknown. words: the subject, and the way out of a failure."""

    state: str
    words: str


def attempt(question: Callable[[], str]) -> Finding:
    """ok with the answer to the question, or fails with the sentence of its error."""
    try:
        return Finding(OK, question())
    except PlasticityError as error:
        return Finding(FAILS, str(error))


def show(place: str, findings: Sequence[Finding]) -> None:
    """Prints findings under the name of their place."""
    print(f"{place}:", flush=True)
    for finding in findings:
        print(f"  {finding.state:<11}  {finding.words}", flush=True)
