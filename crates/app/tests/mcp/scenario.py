"""Scenario registration and assertions."""

import time

import anyio

TIMEOUT_SECONDS = 15
MODERN = "2026-07-28"

BOTH = ("stdio", "http")

SHARED, ISOLATED = [], []


def shared(function):
    """Registers a scenario that shares a server and a page with others. It is passed a client and the site."""
    SHARED.append(function)
    return function


def isolated(*transports):
    """Registers a scenario with servers of its own. It is passed a function that starts one, and the site."""
    def add(function):
        ISOLATED.append((function, transports or BOTH))
        return function
    return add


def expect(condition, message, reply=None):
    if condition:
        return
    text = getattr(reply, "text", reply)
    raise AssertionError(message if text is None else f"{message}, in: {text}")


def depth(line):
    return len(line) - len(line.lstrip())


def has(reply, *words):
    for word in words:
        expect(word in reply.text, f"`{word}` is missing", reply)


def lacks(reply, *words):
    for word in words:
        expect(word not in reply.text, f"`{word}` is present", reply)


async def wait_until(description, condition, seconds=TIMEOUT_SECONDS):
    """Waits until a condition holds and returns its value."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if hasattr(found, "__await__"):
            found = await found
        if found:
            return found
        expect(time.monotonic() < deadline, f"timed out after {seconds} s: {description}")
        await anyio.sleep(0.02)


async def page_contains(agent, words):
    return words in (await agent.snapshot()).page_text


async def timed(call):
    """Awaits a call and returns its duration in milliseconds and its reply."""
    began = time.monotonic()
    reply = await call
    return 1000 * (time.monotonic() - began), reply
