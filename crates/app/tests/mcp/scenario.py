"""What scenarios are made of."""

import time

import anyio

PATIENCE = 15
MODERN = "2026-07-28"


BOTH = ("stdio", "http")

SHARED, ALONE = [], []


def shared(function):
    """A scenario on the server and the page that all of these use. Gets a client and the site."""
    SHARED.append(function)
    return function


def alone(*transports):
    """A scenario with servers of its own. Gets a function that starts one, and the site."""
    def add(function):
        ALONE.append((function, transports or BOTH))
        return function
    return add


def expect(fact, what, reply=None):
    if fact:
        return
    said = getattr(reply, "text", reply)
    raise AssertionError(what if said is None else f"{what}, in: {said}")


def depth(line):
    return len(line) - len(line.lstrip())


def has(reply, *words):
    for word in words:
        expect(word in reply.text, f"`{word}` is not said", reply)


def lacks(reply, *words):
    for word in words:
        expect(word not in reply.text, f"`{word}` is said", reply)


async def until(what, condition, seconds=PATIENCE):
    """Waits until a condition holds, and gives what it is."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if hasattr(found, "__await__"):
            found = await found
        if found:
            return found
        expect(time.monotonic() < deadline, f"not so after {seconds} s: {what}")
        await anyio.sleep(0.02)


async def shows(agent, words):
    return words in (await agent.look()).theirs


async def milliseconds(call):
    began = time.monotonic()
    reply = await call
    return 1000 * (time.monotonic() - began), reply
