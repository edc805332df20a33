#!/usr/bin/env python3
"""Drives `agbrowse mcp` with the Python client of the Model Context Protocol, which shares no code with it.

    drive.py PROGRAM [stdio|http|all] [WORD] [--half 0|1]

Needs the package `mcp` from PyPI (2.3). PROGRAM is started with a folder of its own for its daemon, and shown pages
that are served here on two loopback ports. Each scenario is a function in `scenarios`; what it is called is what must be
so. Most of them share a server and a page with others; those that start, stop or break something have a server to
themselves. Several run at a time.

With WORD, only scenarios with it in their name are run; with --half, every other one of those that are run over both
transports.

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
from scenario import ALONE, BOTH, PATIENCE, SHARED

# Each scenario notes itself.
import scenarios.seeing
import scenarios.refs
import scenarios.acting
import scenarios.speaking
import scenarios.sharing
import scenarios.limits
import scenarios.ends

SCENARIO_SECONDS = 60

# How many scenarios of each kind run at a time.
LANES = 2


class Score:
    """How many scenarios were run, and how many failed."""

    def __init__(self):
        self.count = self.failed = 0

    async def run(self, name, function, *arguments):
        """Runs a scenario and says what came of it. Gives whether all was well."""
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
    """What went wrong, on one line."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, AssertionError):
        said = str(error)
    elif isinstance(error, TimeoutError):
        said = f"not done after {SCENARIO_SECONDS} s"
    else:
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
    said = " | ".join(line.strip() for line in said.splitlines() if line.strip())
    return said if len(said) <= 1200 else said[:1200] + " …"


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
                await server.end()
    start.transport = transport
    return start


async def run_shared(score, start, site, scenarios):
    """Runs scenarios one after the other with one client, until none is left. What a failed one left behind is closed."""
    async with start() as server, server.client() as agent:
        for function in scenarios:
            if not await score.run(f"{server.transport}/{function.__name__}", function, agent, site):
                with contextlib.suppress(Exception), anyio.fail_after(PATIENCE):
                    await agent.call("browser_close")


async def run_apart(score, start, site, scenarios):
    """Runs scenarios that have servers of their own one after the other, until none is left."""
    for function in scenarios:
        await score.run(f"{start.transport}/{function.__name__}", function, start, site)


def chosen(transport, only, half):
    """The scenarios that share a server, and those that have their own."""
    turns = itertools.count()
    def is_chosen(function, ways):
        if transport not in ways or only not in function.__name__:
            return False
        return len(ways) == 1 or half is None or next(turns) % 2 == half
    shared = [function for function in SHARED if is_chosen(function, BOTH)]
    return shared, [function for function, ways in ALONE if is_chosen(function, ways)]


async def drive(program, transports, only, half):
    site, score = Site(), Score()
    for transport in transports:
        start = starter(program, transport)
        shared, apart = chosen(transport, only, half)
        # Most of their time they wait. Each lane takes the next one that nobody has taken.
        waiting = iter(shared), iter(apart)
        async with anyio.create_task_group() as lanes:
            for _ in range(min(LANES, len(shared))):
                lanes.start_soon(run_shared, score, start, site, waiting[0])
            for _ in range(min(LANES, len(apart))):
                lanes.start_soon(run_apart, score, start, site, waiting[1])
    print(f"{score.count} scenarios, {score.failed} failed")
    return 1 if score.failed or not score.count else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("way", nargs="?", choices=["stdio", "http", "all"], default="all")
    parser.add_argument("only", nargs="?", default="", help="run scenarios with this in their name")
    parser.add_argument("--half", type=int, choices=[0, 1], help="run every other one of those that are run twice")
    given = parser.parse_args()
    # It warns of an answer to its farewell that it did not expect.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    transports = ["stdio", "http"] if given.way == "all" else [given.way]
    sys.exit(anyio.run(drive, str(Path(given.program).resolve()), transports, given.only, given.half))


if __name__ == "__main__":
    main()
