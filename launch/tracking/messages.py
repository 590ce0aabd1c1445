"""What a worker and its companion process say to each other: each message is a line of JSON.

The worker sends orders, the companion an answer to each.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from plasticity_lab.records.measures import Measures
from plasticity_lab.run import Run

BEGIN = "begin"
"""Open these runs (a list of what `described` returns): they are followed while they train."""
ROWS = "rows"
"""Write these rows (run id → rows) to open runs."""
STATE = "state"
"""Show this state in open runs: "compiling", "waiting", "training"."""
FINISH = "finish"
"""Write these runs (a list of run ids) from their records."""
LEAVE = "leave"
"""Close the open runs: their training was interrupted, and they have no records."""


@dataclass(frozen=True)
class Answer:
    """What the companion says when it has done something; an empty answer is a sign that it is alive.

    finished: whether an order to finish runs has been carried out. failed: run id → why it could not be written.
    not_live: why the open runs are no longer followed. error: why an order could not be understood.
    """

    finished: bool = False
    failed: Mapping[str, str] = field(default_factory=dict)
    not_live: str = ""
    error: str = ""


def described(run: Run, measures: Measures) -> dict[str, Any]:
    """A run that is trained now, as its record will have it: run (its id), science, asked_as, measures."""
    return {"run": run.id, "science": run.science, "asked_as": list(run.asked_as), "measures": measures.as_json()}


def order_line(order: str, *content: Any) -> str:
    """An order as a line."""
    return json.dumps([order, content]) + "\n"


def read_order(line: str) -> tuple[str, list[Any]]:
    """An order and what it is about."""
    order, content = json.loads(line)
    return order, content


def answer_line(answer: Answer) -> str:
    """An answer as a line."""
    return json.dumps(asdict(answer)) + "\n"


def read_answer(line: str) -> Answer:
    """An answer out of its line."""
    return Answer(**json.loads(line))
