"""Refs: format, resolution, staleness and refusal."""

import re

from pages import SUBMIT
from scenario import expect, has, isolated, lacks, page_contains, shared, wait_until

@isolated()
async def ref_format_is_e_and_number(start, site):
    # In a new browser: refs have a prefix once another renderer process issues them.
    async with start() as server, server.client() as agent:
        await agent.open(site.page("<button>One</button><a href=#>Two</a>"))
        snapshot = await agent.snapshot()
        for words in ("One", "Two"):
            expect(re.fullmatch(r"e[1-9]\d*", snapshot.ref(words)), "a ref is e and a number", snapshot)
        again = await agent.snapshot(allRefs=True)
        expect(snapshot.ref("One") == again.ref("One"), "an element keeps its ref", again)


@shared
async def ref_of_current_snapshot_resolves(agent, site):
    page = site.scripted(
        "<button onclick='document.title = 1'>One</button><button onclick='document.title = 2'>Two</button>")
    await agent.open(page)
    snapshot = await agent.snapshot()
    done = await agent.call_ok("browser_click", ref=snapshot.ref("Two"), element="the second button")
    lacks(done, "may have changed")
    expect(await page.run("document.title") == "2", "the right one was clicked", done)


@shared
async def ref_with_snapshot_brackets_is_accepted(agent, site):
    page = site.scripted("<button onclick='document.title = 1'>One</button>")
    await agent.open(page)
    await agent.call_ok("browser_click", ref=f"[ref={(await agent.snapshot()).ref('One')}]")
    expect(await page.run("document.title") == "1", "it was clicked")


@shared
async def malformed_ref_error_gives_expected_format(agent, site):
    await agent.open(site.page("<button>One</button>"))
    for ref in ("#foo", "button", "e", "e0", "e-1", "12", "e12x", "fe1", ":e1", ""):
        reply = await agent.call_error("browser_click", ref=ref)
        has(reply, "expected", "e12345")


@shared
async def unknown_ref_is_refused(agent, site):
    await agent.open(site.page("<button>One</button>"))
    reply = await agent.call_error("browser_click", ref="e999999")
    has(reply, "e999999", "snapshot")


@shared
async def ref_to_changed_element_is_refused(agent, site):
    for script, now in (
        ("x.textContent = 'Loading...'", "button 'Loading...'"),
        ("x.setAttribute('aria-label', 'Delete all')", "button 'Delete all'"),
        ("x.setAttribute('role', 'link')", "link 'Submit'"),
    ):
        page = site.scripted("<title>.</title>" + SUBMIT)
        await agent.open(page)
        ref = (await agent.snapshot()).ref("Submit")
        await page.run(f"{script}; 1")
        reply = await agent.call_error("browser_click", ref=ref)
        has(reply, f"Element changed since snapshot. Was: button 'Submit', Now: {now}",
            "Take a new snapshot to get current element state.")
        expect(await page.run("document.title") == ".", "nothing was clicked", reply)
        again = await agent.snapshot()
        await agent.call_ok("browser_click", ref=again.ref(now.split("'")[1]))
        expect(await page.run("document.title") == ".1", "a new snapshot's ref works", again)


@shared
async def ref_in_recycled_row_is_refused(agent, site):
    page = site.scripted(
        "<title>.</title><table><tr><th id=owner>Ann</th>"
        "<td><button onclick='document.title += 1'>Delete</button></td></tr></table>")
    await agent.open(page)
    ref = (await agent.snapshot()).ref("Delete")
    await page.run("owner.textContent = 'Bob'; 1")
    reply = await agent.call_error("browser_click", ref=ref)
    has(reply, "Element changed since snapshot.", "Ann", "Bob")
    expect(await page.run("document.title") == ".", "nothing was clicked", reply)


@shared
async def ref_to_removed_element_is_refused(agent, site):
    for script in ("x.remove()", "x.hidden = true"):
        page = site.scripted("<title>.</title>" + SUBMIT)
        await agent.open(page)
        ref = (await agent.snapshot()).ref("Submit")
        await page.run(f"{script}; 1")
        reply = await agent.call_error("browser_click", ref=ref)
        has(reply, f"Element 'Submit button' (ref: {ref}) no longer exists.",
            "Take a new snapshot to see current page state.")
        expect(await page.run("document.title") == ".", "nothing was clicked", reply)


@shared
async def ref_to_replaced_element_is_used_with_note(agent, site):
    page = site.scripted("<title>.</title>" + SUBMIT)
    await agent.open(page)
    ref = (await agent.snapshot()).ref("Submit")
    await page.run("x.replaceWith(x.cloneNode(true)); 1")
    has(await agent.call_ok("browser_click", ref=ref), "note (element-replaced)")
    expect(await page.run("document.title") != ".", "it was clicked")


@shared
async def ref_from_before_navigation_is_refused(agent, site):
    await agent.open(site.page("<button>Submit</button>"))
    ref = (await agent.snapshot()).ref("Submit")
    page = site.scripted("<title>.</title>" + SUBMIT)
    await agent.open(page)
    reply = await agent.call_error("browser_click", ref=ref)
    has(reply, "no longer exists", "Take a new snapshot to see current page state.")
    expect(await page.run("document.title") == ".", "nothing was clicked", reply)


@shared
async def ref_with_minor_change_is_used_with_note(agent, site):
    for before, after in (("Cart (2)", "Cart (3)"), ("Updated 12:01", "Updated 12:02")):
        page = site.scripted(f"<title>.</title><button id=x onclick='document.title += 1'>{before}</button>")
        await agent.open(page)
        ref = (await agent.snapshot()).ref(before)
        await page.run(f"x.textContent = '{after}'; 1")
        reply = await agent.call_ok("browser_click", ref=ref)
        has(reply, "Note: Element may have changed. Using current state.")
        expect(await page.run("document.title") == ".1", "it was clicked", reply)


@shared
async def changed_field_value_keeps_ref_valid(agent, site):
    page = site.scripted("<input id=x aria-label=Name>")
    await agent.open(page)
    ref = (await agent.snapshot()).ref("Name")
    await page.run("x.value = 'Ann'; 1")
    reply = await agent.call_ok("browser_type", ref=ref, text="Bob")
    lacks(reply, "may have changed")
    expect(await page.run("x.value") == "Bob", "it was filled in", reply)


@shared
async def refs_of_current_and_previous_snapshot_are_known(agent, site):
    page = site.scripted(
        "<div id=box><button>First</button></div><button id=stays onclick='document.title = 1'>Stays</button>")
    await agent.open(page)
    first = await agent.snapshot()
    await page.run("box.innerHTML = '<button>Second</button>'; 1")
    await wait_until("the change is shown", lambda: page_contains(agent, "Second"), seconds=3)
    reply = await agent.call_error("browser_click", ref=first.ref("First"))
    has(reply, "Element 'First button'", "no longer exists")
    await page.run("box.innerHTML = '<button>Third</button>'; 1")
    await wait_until("the change is shown", lambda: page_contains(agent, "Third"), seconds=3)
    reply = await agent.call_error("browser_click", ref=first.ref("First"))
    lacks(reply, "First button")
    has(reply, "snapshot")
    await agent.call_ok("browser_click", ref=first.ref("Stays"))
    expect(await page.run("document.title") == "1", "an element that is still shown can be used")


@shared
async def ref_of_hidden_element_expires(agent, site):
    page = site.scripted("<title>.</title><button id=x onclick='document.title += 1'>Delete</button><p id=p>Before</p>")
    await agent.open(page)
    ref = (await agent.snapshot()).ref("Delete")
    await page.run("x.hidden = true; 1")
    for words in ("Once", "Twice"):
        await page.run(f"p.textContent = '{words}'; 1")
        await wait_until("the change is shown", lambda: page_contains(agent, words), seconds=3)
        lacks(await agent.snapshot(), "Delete")
    await page.run("x.hidden = false; 1")
    reply = await agent.call_error("browser_click", ref=ref)
    expect(await page.run("document.title") == ".", "nothing was clicked", reply)


@shared
async def selectors_resolve_and_report_matched_element(agent, site):
    page = site.scripted(
        "<label>Name <input id=n></label><button onclick='document.title = 1'>Send it</button>"
        "<button>Twin</button><button>Twin</button>")
    await agent.open(page)
    for target in ("text=Send it", 'role=button[name="Send it"]', "css=label + button"):
        await page.run("document.title = ''; 1")
        reply = await agent.call_ok("browser_click", ref=target)
        expect(await page.run("document.title") == "1", f"{target} was clicked", reply)
        has(reply, "Send it")
    await agent.call_ok("browser_type", ref="label=Name", text="Ann")
    expect(await page.run("n.value") == "Ann", "the field was filled in")
    reply = await agent.call_error("browser_click", ref="text=Twin")
    refs = re.findall(r"\be\d+\b", reply.page_text)
    expect(len(set(refs)) == 2, "both matches are listed with their refs", reply)
    await agent.call_ok("browser_click", ref=refs[0])
    has(await agent.call_error("browser_click", ref="text=Nowhere"), "Nowhere")
