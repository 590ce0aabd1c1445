"""Publish the W&B dashboard: learning curves, TAOA, generalization gap and cost, by activation."""

import argparse
import json

from launch.commands.sync import PROJECT
from launch.tracking.wandb.key import require_key
from plasticity_lab.errors import StoreError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    parser.add_argument("--entity", help="W&B's user or team; by default that of the key")
    parser.add_argument("--project", default=PROJECT, help="W&B's project")
    parser.add_argument("--benchmark", help="show the runs of one benchmark; by default all runs")
    parser.add_argument("--json", action="store_true", help="print what would be sent, and send nothing")


def run(options: argparse.Namespace) -> int:
    """The command.  Raises ConfigError without a key; StoreError if W&B does not take it."""
    if not options.json:
        require_key("Publishing", "--json prints the dashboard.")
    from launch.tracking.dashboard import as_json, dashboard  # wandb: who has no key, or asks for --help, need not wait

    if options.json:
        print(json.dumps(as_json(dashboard(options.entity or "", options.project, options.benchmark)), indent=1))
        return 0
    import wandb

    from launch.tracking.wandb.open_run import own_service
    from launch.tracking.wandb.writer import in_a_line

    with own_service():
        try:
            entity = options.entity or wandb.Api().default_entity
            built = dashboard(entity, options.project, options.benchmark)
            built.save()
            url = built.url
        except Exception as error:  # what its server answers comes out as errors of many kinds
            raise StoreError(f"W&B did not take the dashboard: {in_a_line(error)}") from error
    print(url)
    return 0
