"""Publish the W&B dashboard of what an agent measures: learning curves, summaries and cost, by activation."""

import argparse
import json
from functools import partial

from launch.commands.sync import PROJECT
from launch.tracking.wandb.key import require_key
from plasticity_lab.errors import StoreError
from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.measures import Declared


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    parser.add_argument("--entity", help="W&B's user or team; by default that of the key")
    parser.add_argument("--project", default=PROJECT, help="W&B's project")
    parser.add_argument("--benchmark", help="show the runs of one benchmark; by default all runs")
    parser.add_argument("--agent", help="show what this agent measures; by default the benchmark's, else a classifier")
    parser.add_argument("--json", action="store_true", help="print what would be sent, and send nothing")


def run(options: argparse.Namespace) -> int:
    """The command.  Raises ConfigError without a key, and for an unknown agent; StoreError if W&B does not take it."""
    if not options.json:
        require_key("Publishing", "--json prints the dashboard.")
    from launch.tracking.dashboard import as_json, dashboard  # wandb: who has no key, or asks for --help, need not wait

    declared = _declared(options.agent, options.benchmark)
    built = partial(
        dashboard, project=options.project, declared=declared, benchmark=options.benchmark, agent=options.agent
    )
    if options.json:
        print(json.dumps(as_json(built(options.entity or "")), indent=1))
        return 0
    import wandb

    from launch.tracking.wandb.open_run import own_service
    from launch.tracking.wandb.writer import in_a_line

    with own_service():
        try:
            entity = options.entity or wandb.Api().default_entity
            published = built(entity)
            published.save()
            url = published.url
        except Exception as error:  # what its server answers comes out as errors of many kinds
            raise StoreError(f"W&B did not take the dashboard: {in_a_line(error)}") from error
    print(url)
    return 0


def _declared(agent: str | None, benchmark: str | None) -> Declared:
    """What an agent measures; the benchmark's own, where none is named; a classifier, where conf/ names neither."""
    from launch.runs.arguments import check_option
    from launch.runs.files import option_in
    from launch.runs.options import CONF
    from plasticity_lab.records.targets import measures_of

    targets = {path.stem: option_in(path).get("_target_") for path in sorted((CONF / "agent").glob("*.yaml"))}
    targets = {name: target for name, target in targets.items() if target}  # without `auto`
    if agent is not None:
        check_option("agent", agent, list(targets))
    elif benchmark is not None and (file := CONF / "benchmark" / f"{benchmark}.yaml").is_file():
        agent = option_in(file).get("default_agent")
    return measures_of({"agent": targets[agent]}).declared if agent in targets else CLASSIFIER.declared
