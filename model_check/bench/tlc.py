"""The engine compared with TLC, on the same model in the same run.

What TLC needs to start (the JVM, the modules, the initial states) is measured on the same modules without a
step, and subtracted. Where other processes use the machine, a search of minutes suffers more than one of
seconds: the ratio of processor times is the one to look at then.
"""

from __future__ import annotations

import resource
import time

from kraftcheck.bench.measure import Figure, rate
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.system import Exploration, Limits
from kraftcheck.engine.tables import Tables
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.tlc.follow import ROOT, settings
from kraftcheck.tlc.install import Tools
from kraftcheck.tlc.modules import Configuration, Modules
from kraftcheck.tlc.process import Job, Ran, run, workplace

#: More than a million states.
DEFAULT_SCENARIO = "parity-three-voters"
THREADS = 2


def figures(scenario: KRaftScenario, tools: Tools) -> list[Figure]:
    """Distinct states a second of both with two threads each. Raises InputError where their counts differ."""
    modules = Modules()
    configuration = modules.configuration(scenario.name)
    cold, filled, processor = _engine(scenario)
    start, start_processor = _tlc(_without_steps(configuration, modules), tools)
    job = Job(modules.sources(), configuration.root, configuration.text, THREADS)
    found, found_processor = _tlc(job, tools)
    if found.said.distinct != cold.distinct:
        raise InputError(
            f"{scenario.name}: TLC finds {found.said.distinct:,} distinct states and the checker "
            f"{cold.distinct:,}; 'kraftcheck tlc {scenario.name}' says more."
        )
    searching = max(found.own_seconds - start.own_seconds, 1e-9)
    theirs = found.said.distinct / searching
    return [
        Figure("tlc_states", "distinct states, the same for both", cold.distinct, "distinct states"),
        Figure("tlc_start", "TLC's start, subtracted", start.own_seconds, "s"),
        Figure("tlc_seconds", "TLC's search, 2 workers", searching, "s"),
        Figure("tlc_2", "TLC, 2 workers", theirs, "distinct states/s"),
        Figure("beside_tlc_2", "engine, 2 threads", rate(cold), "distinct states/s"),
        Figure(
            "beside_tlc_filled_2",
            "engine, 2 threads, tables filled before",
            rate(filled),
            "distinct states/s",
        ),
        Figure("engine_2_to_tlc_2", "engine : TLC", rate(cold) / theirs, "times"),
        Figure("filled_2_to_tlc_2", "engine, tables filled before : TLC", rate(filled) / theirs, "times"),
        Figure(
            "tlc_to_engine_processor",
            "TLC : engine, by processor time",
            max(found_processor - start_processor, 1e-9) / max(processor, 1e-9),
            "times",
        ),
    ]


def _engine(scenario: KRaftScenario) -> tuple[Exploration, Exploration, float]:
    """The engine with empty and with filled tables, and the processor time of the first run in seconds; it is
    compiled before.
    """
    system = build(scenario)
    explore(system, threads=THREADS, limits=Limits(max_states=5_000))
    tables = Tables(system)
    began = time.process_time()
    cold = explore(system, threads=THREADS, tables=tables)
    processor = time.process_time() - began
    return cold, explore(system, threads=THREADS, tables=tables), processor


def _without_steps(configuration: Configuration, modules: Modules) -> Job:
    module = (
        f"---- MODULE {ROOT} ----\nEXTENDS {configuration.root}\n"
        f"NoSteps_ == FALSE /\\ {configuration.next}\n====\n"
    )
    plain = settings(configuration, configuration.initial, "NoSteps_", asks=False)
    return Job(modules.sources() | {f"{ROOT}.tla": module}, ROOT, plain, THREADS)


def _tlc(job: Job, tools: Tools) -> tuple[Ran, float]:
    """A run of TLC, and its processor time in seconds."""
    before = _children_seconds()
    with workplace() as folder:
        done = run(tools, job, folder)
    if not done.said.success:
        raise InputError(f"TLC does not come to an end: {done.trouble or done.said.violated}.")
    return done, _children_seconds() - before


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
