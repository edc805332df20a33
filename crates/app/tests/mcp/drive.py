#!/usr/bin/env python3
"""Drives `agbrowse mcp` with the Python client of the Model Context Protocol, which shares no code with it.

    drive.py PROGRAM [stdio|http|all] [WORD] [--half 0|1]

Needs the package `mcp` from PyPI (2.3). PROGRAM gets a runtime folder of its own for its daemon; the pages are served
here on two loopback ports. Each scenario is a function in `scenarios`, named after the behaviour it checks. Most of
them share a server and a page with others; those that start, stop or break something have a server to themselves.
Several run at a time.

WORD selects scenarios by name; --half runs every other one of those that are run over both transports.

Prints a line per scenario, `ok NAME` or `FAIL NAME: reason`, and exits with 1 if any failed.
"""

import argparse
import contextlib
import itertools
import logging
import sys
import time
import traceback
from pathlib import Path

import anyio

from clients import Server
from pages import Site
from scenario import BOTH, ISOLATED, SHARED, TIMEOUT_SECONDS

# Scenarios register themselves on import.
import scenarios.snapshots
import scenarios.refs
import scenarios.actions
import scenarios.protocol
import scenarios.sessions
import scenarios.limits
import scenarios.shutdown

SCENARIO_SECONDS = 60

# Concurrent scenarios of each kind (shared and isolated).
LANES = 2


class Results:
    """Counts of scenarios run and failed."""

    def __init__(self):
        self.count = self.failed = 0

    async def run(self, name, function, *arguments):
        """Runs a scenario, prints its result and returns whether it passed."""
        self.count += 1
        began = time.monotonic()
        try:
            with anyio.fail_after(SCENARIO_SECONDS):
                await function(*arguments)
        except Exception as error:
            self.failed += 1
            print(f"FAIL {name}: {reason(error)}", flush=True)
            return False
        print(f"ok {name} ({time.monotonic() - began:.1f} s)", flush=True)
        return True


def reason(error):
    """The failure reason on one line."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, AssertionError):
        message = str(error)
    elif isinstance(error, TimeoutError):
        message = f"timed out after {SCENARIO_SECONDS} s"
    else:
        where = traceback.extract_tb(error.__traceback__)[-1]
        message = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
    message = " | ".join(line.strip() for line in message.splitlines() if line.strip())
    return message if len(message) <= 1200 else message[:1200] + " …"


def starter(program, transport):
    @contextlib.asynccontextmanager
    async def start(*options):
        server = Server(program, transport, *options)
        try:
            if transport == "http":
                await server.listen()
            yield server
        finally:
            with anyio.CancelScope(shield=True):
                await server.stop()
    start.transport = transport
    return start


async def run_shared(results, start, site, scenarios):
    """Runs scenarios one after the other with one client. The page of a failed one is closed."""
    async with start() as server, server.client() as agent:
        for function in scenarios:
            if not await results.run(f"{server.transport}/{function.__name__}", function, agent, site):
                with contextlib.suppress(Exception), anyio.fail_after(TIMEOUT_SECONDS):
                    await agent.call("browser_close")


async def run_isolated(results, start, site, scenarios):
    """Runs scenarios with servers of their own one after the other."""
    for function in scenarios:
        await results.run(f"{start.transport}/{function.__name__}", function, start, site)


def select_scenarios(transport, only, half):
    """Selects the shared and the isolated scenarios to run."""
    turns = itertools.count()
    def is_selected(function, transports):
        if transport not in transports or only not in function.__name__:
            return False
        return len(transports) == 1 or half is None or next(turns) % 2 == half
    shared = [function for function in SHARED if is_selected(function, BOTH)]
    return shared, [function for function, transports in ISOLATED if is_selected(function, transports)]


async def drive(program, transports, only, half):
    site, results = Site(), Results()
    for transport in transports:
        start = starter(program, transport)
        shared, isolated = select_scenarios(transport, only, half)
        # Scenarios mostly wait. Each lane takes the next one from the shared iterator.
        queues = iter(shared), iter(isolated)
        async with anyio.create_task_group() as lanes:
            for _ in range(min(LANES, len(shared))):
                lanes.start_soon(run_shared, results, start, site, queues[0])
            for _ in range(min(LANES, len(isolated))):
                lanes.start_soon(run_isolated, results, start, site, queues[1])
    print(f"{results.count} scenarios, {results.failed} failed")
    return 1 if results.failed or not results.count else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("transport", nargs="?", choices=["stdio", "http", "all"], default="all")
    parser.add_argument("only", nargs="?", default="", help="run only scenarios whose name contains this")
    parser.add_argument("--half", type=int, choices=[0, 1], help="run every other scenario that has both transports")
    arguments = parser.parse_args()
    # The client logs a warning about the response to its session DELETE.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    transports = ["stdio", "http"] if arguments.transport == "all" else [arguments.transport]
    sys.exit(anyio.run(drive, str(Path(arguments.program).resolve()), transports, arguments.only, arguments.half))


if __name__ == "__main__":
    main()
