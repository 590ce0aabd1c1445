"""Commands for the board games.

    python -m plasticity_lab.environments show bricks [--policy scripted] [--steps 30] [--seed 0]
    python -m plasticity_lab.environments scores [--episodes 1000] [--seed 0] [--out FILE]

The first prints a game as text; the second measures the returns of random actions and of the scripted policies, and
prints them or writes them as CSV.
"""

import plasticity_lab.process.import_path  # from now on the current folder comes last
import plasticity_lab.process.whole_lab  # noqa: F401 (ends the process with one sentence if packages are missing)

# isort: split
import argparse
import csv
import io
import sys
from pathlib import Path

from plasticity_lab.environments.environments import Environments
from plasticity_lab.environments.games.games import frame, game, legend
from plasticity_lab.environments.games.scores import act_of, scores
from plasticity_lab.errors import ConfigError
from plasticity_lab.process.exits import check_words, leave, status_of
from plasticity_lab.records.files import write_atomically


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line → its exit status."""
    given = sys.argv[1:] if arguments is None else arguments
    return status_of(lambda: _done(given))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m plasticity_lab.environments", description=(__doc__ or "").split("\n")[0]
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    show = commands.add_parser("show", help="prints a game's board as text")
    show.add_argument("game", help="bricks, invaders, crossing or gathering")
    show.add_argument("--policy", choices=("scripted", "random"), default="scripted", help="the policy that plays")
    show.add_argument("--steps", type=int, default=20, help="steps to play before the board is printed")
    show.add_argument("--seed", type=int, default=0)
    measure = commands.add_parser("scores", help="measures the returns of random actions and scripted policies")
    measure.add_argument("--episodes", type=int, default=1000, help="episodes for each game and policy")
    measure.add_argument("--seed", type=int, default=0)
    measure.add_argument("--out", type=Path, help="a CSV file; without it, the lines are printed")
    return parser


def _done(given: list[str]) -> int:
    """Runs the parsed command.  Raises ConfigError for an unknown game, and for numbers out of range."""
    check_words(given)
    options = _parser().parse_args(given)
    if options.command == "show":
        return _shown(options.game, options.policy, options.steps, options.seed)
    if options.episodes < 2:
        raise ConfigError(f"--episodes is {options.episodes}; it must be at least 2, so that there is a spread.")
    found = io.StringIO()
    lines = scores(options.episodes, options.seed)
    writer = csv.DictWriter(found, lines[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    if options.out is None:
        print(found.getvalue(), end="")
    else:
        write_atomically(options.out, found.getvalue().encode())
        print(f"Written: {options.out}")
    return 0


def _shown(name: str, policy: str, steps: int, seed: int) -> int:
    if steps < 0:
        raise ConfigError(f"--steps is {steps}; it must be at least 0.")
    environments = Environments(game(name), [seed], 1, 0)
    act, earned = act_of(name, policy, seed), 0.0
    for _ in range(steps):
        earned += float(environments.step(act(environments.observations)).rewards.sum())
    print(f"{name}, after {steps} steps of the {policy} policy that earned {earned:g}\n")
    print(frame(name, environments.observations[0, 0]))
    print(f"\n{legend(name)}")
    return 0


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
