"""``kraftcheck pipeline record``: record and compare simulated clusters of an implementation, on Spark."""

from __future__ import annotations

import argparse

from kraftcheck.evidence.adapters.started import Adapters
from kraftcheck.evidence.kafka.option import Implementation, implementation_of
from kraftcheck.evidence.recorder.adapter_host import require_whole
from kraftcheck.evidence.recorder.campaign import Campaign
from kraftcheck.evidence.recorder.option import add_campaign, plan_of, read_protocol
from kraftcheck.evidence.recorder.performing import perform
from kraftcheck.evidence.recorder.record_report import as_json, as_text, exit_status
from kraftcheck.evidence.recorder.workers import Order
from kraftcheck.pipeline.progress import progress
from kraftcheck.pipeline.session import add_session_options, settings_of, spark_session
from kraftcheck.support import streams
from kraftcheck.support.outputs import print_output
from kraftcheck.support.terminal import console, width


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the arguments."""
    parser.epilog = (
        "FOLDER is on this machine; 'kraftcheck record' goes on with a campaign that this began, and the "
        "other way round. Exit status: that of 'kraftcheck record'. See docs/pipeline/record.md."
    )
    add_campaign(parser)
    add_session_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Record. Raises InputError where the adapter or the cluster does not work."""
    settings, implementation = settings_of(arguments.conf), _everywhere(implementation_of(arguments))
    protocol = read_protocol(arguments)
    with streams.progress(quiet=arguments.json) as tell:
        command = implementation.command(tell)
    with Adapters(command, implementation.timeout, require_whole) as adapters:
        plan = plan_of(arguments, adapters.name)
    campaign = Campaign(plan, arguments.output)
    with (
        spark_session("record", arguments.master, settings) as spark,
        progress(spark, "record", quiet=arguments.json) as tell,
    ):
        from kraftcheck.pipeline.record.workers import OnSpark

        workers = OnSpark(spark, Order(plan, protocol, arguments.shrink), implementation)
        summary = perform(campaign, workers, tell, shrinks=arguments.shrink > 0)
    if arguments.json:
        print_output("record", as_json(summary), indent=2)
    else:
        print(as_text(summary, width(console())))
    return exit_status(summary)


def _everywhere(implementation: Implementation) -> Implementation:
    """The same for a process in another folder."""
    kafka, jars = (path and path.absolute() for path in (implementation.kafka, implementation.jars))
    return implementation._replace(kafka=kafka, jars=jars)
