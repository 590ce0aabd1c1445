"""Publish the W&B dashboard of an agent's measures: learning curves, summaries and cost, by activation."""

import argparse
import json
from functools import partial
from pathlib import Path

from launch.commands.sync import PROJECT
from launch.packs.lookup import store_there
from launch.tracking.wandb.environment import in_a_line, named, require_key
from plasticity_lab.errors import StoreError
from plasticity_lab.records.classifier import CLASSIFIER
from plasticity_lab.records.measures import Declared
from plasticity_lab.records.plan import Plan, all_plans
from plasticity_lab.records.targets import measures_of


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own options."""
    parser.add_argument("--entity", help="W&B's user or team; by default the key's")
    parser.add_argument("--project", help=f"W&B's project; by default the store's, or {PROJECT} without a store")
    parser.add_argument(
        "--store", type=Path, help="show the measures of a store's last sweep, in the project that tracks it"
    )
    parser.add_argument("--benchmark", help="show the runs of one benchmark; by default all runs")
    parser.add_argument("--agent", help="show this agent's measures; by default the benchmark's agent, or a classifier")
    parser.add_argument("--json", action="store_true", help="print the dashboard that would be sent, and send nothing")


def run(options: argparse.Namespace) -> None:
    """The command.  Raises ConfigError without a key, and for an unknown agent; StoreError if W&B does not take it."""
    if not options.json:
        require_key("Publishing", "--json prints the dashboard.")
    from launch.tracking.dashboard import as_json, dashboard  # wandb: --help, or a missing key, need not wait for it

    last = None if options.store is None else _last_plan(options.store)
    tracking = None if last is None else last.settings.tracking
    project = options.project or (tracking.project if tracking else PROJECT)
    asked_entity = options.entity or (tracking.entity if tracking else None)
    if last is None or options.agent or options.benchmark:
        declared = _declared(options.agent, options.benchmark)
    else:
        run = next(iter(last.runs.values()))
        declared = measures_of(run.targets, run.science).declared
    built = partial(dashboard, project=project, declared=declared, benchmark=options.benchmark, agent=options.agent)
    if options.json:
        print(json.dumps(as_json(built(asked_entity or "")), indent=1))
        return
    import wandb

    from launch.tracking.wandb.writer import own_service

    with own_service():
        try:
            entity = asked_entity or wandb.Api().default_entity
            published = built(entity)
            published.save()
            url = published.url
        except Exception as error:  # answers of its server raise errors of many kinds
            raise StoreError(f"W&B did not take the dashboard: {in_a_line(error).rstrip('.')}{named()}.") from error
    print(url)


def _last_plan(folder: Path) -> Plan | None:
    """The newest plan of a store; None if there is no readable plan.  Raises StoreError."""
    store = store_there(folder)
    plans = [plan for plan in all_plans(store, []) if plan.runs]
    return max(plans, key=lambda plan: store.plan(plan.sweep).stat().st_mtime, default=None)


def _declared(agent: str | None, benchmark: str | None) -> Declared:
    """The measures of the named agent or the benchmark's default agent, or of a classifier if neither is known."""
    from launch.runs.arguments import check_option
    from launch.runs.files import option_in
    from launch.runs.options import CONF

    targets = {path.stem: option_in(path).get("_target_") for path in sorted((CONF / "agent").glob("*.yaml"))}
    targets = {name: target for name, target in targets.items() if target}  # without `auto`
    if agent is not None:
        check_option("agent", agent, list(targets))
    elif benchmark is not None and (file := CONF / "benchmark" / f"{benchmark}.yaml").is_file():
        agent = option_in(file).get("default_agent")
    return measures_of({"agent": targets[agent]}).declared if agent in targets else CLASSIFIER.declared
