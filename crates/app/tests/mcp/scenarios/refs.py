"""What a ref means, and when it is refused."""

import re

from pages import SUBMIT
from scenario import alone, expect, has, lacks, shared, shows, until

@alone()
async def ref_is_e_and_a_number(start, site):
    # In a new browser: what was given before is marked when another process begins to count.
    async with start() as server, server.client() as agent:
        await agent.open(site.page("<button>One</button><a href=#>Two</a>"))
        shown = await agent.look()
        for words in ("One", "Two"):
            expect(re.fullmatch(r"e[1-9]\d*", shown.ref(words)), "a ref is e and a number", shown)
        again = await agent.look(allRefs=True)
        expect(shown.ref("One") == again.ref("One"), "an element keeps its ref", again)


@shared
async def ref_of_the_current_snapshot_is_used(agent, site):
    page = site.live(
        "<button onclick='document.title = 1'>One</button><button onclick='document.title = 2'>Two</button>")
    await agent.open(page)
    shown = await agent.look()
    done = await agent.well("browser_click", ref=shown.ref("Two"), element="the second button")
    lacks(done, "may have changed")
    expect(await page.do("document.title") == "2", "the right one was clicked", done)


@shared
async def ref_is_taken_as_it_stands_in_a_snapshot(agent, site):
    page = site.live("<button onclick='document.title = 1'>One</button>")
    await agent.open(page)
    await agent.well("browser_click", ref=f"[ref={(await agent.look()).ref('One')}]")
    expect(await page.do("document.title") == "1", "it was clicked")


@shared
async def malformed_ref_gets_the_expected_format(agent, site):
    await agent.open(site.page("<button>One</button>"))
    for ref in ("#foo", "button", "e", "e0", "e-1", "12", "e12x", "fe1", ":e1", ""):
        reply = await agent.badly("browser_click", ref=ref)
        has(reply, "expected", "e12345")


@shared
async def ref_that_no_snapshot_gave_is_refused(agent, site):
    await agent.open(site.page("<button>One</button>"))
    reply = await agent.badly("browser_click", ref="e999999")
    has(reply, "e999999", "snapshot")


@shared
async def changed_element_is_refused(agent, site):
    for script, now in (
        ("x.textContent = 'Loading...'", "button 'Loading...'"),
        ("x.setAttribute('aria-label', 'Delete all')", "button 'Delete all'"),
        ("x.setAttribute('role', 'link')", "link 'Submit'"),
    ):
        page = site.live("<title>.</title>" + SUBMIT)
        await agent.open(page)
        ref = (await agent.look()).ref("Submit")
        await page.do(f"{script}; 1")
        reply = await agent.badly("browser_click", ref=ref)
        has(reply, f"Element changed since snapshot. Was: button 'Submit', Now: {now}",
            "Take a new snapshot to get current element state.")
        expect(await page.do("document.title") == ".", "nothing was clicked", reply)
        again = await agent.look()
        await agent.well("browser_click", ref=again.ref(now.split("'")[1]))
        expect(await page.do("document.title") == ".1", "a new snapshot's ref works", again)


@shared
async def recycled_row_is_refused(agent, site):
    page = site.live(
        "<title>.</title><table><tr><th id=who>Ann</th>"
        "<td><button onclick='document.title += 1'>Delete</button></td></tr></table>")
    await agent.open(page)
    ref = (await agent.look()).ref("Delete")
    await page.do("who.textContent = 'Bob'; 1")
    reply = await agent.badly("browser_click", ref=ref)
    has(reply, "Element changed since snapshot.", "Ann", "Bob")
    expect(await page.do("document.title") == ".", "nothing was clicked", reply)


@shared
async def element_that_is_gone_is_refused(agent, site):
    for script in ("x.remove()", "x.hidden = true"):
        page = site.live("<title>.</title>" + SUBMIT)
        await agent.open(page)
        ref = (await agent.look()).ref("Submit")
        await page.do(f"{script}; 1")
        reply = await agent.badly("browser_click", ref=ref)
        has(reply, f"Element 'Submit button' (ref: {ref}) no longer exists.",
            "Take a new snapshot to see current page state.")
        expect(await page.do("document.title") == ".", "nothing was clicked", reply)


@shared
async def element_that_was_made_anew_is_used_with_a_note(agent, site):
    page = site.live("<title>.</title>" + SUBMIT)
    await agent.open(page)
    ref = (await agent.look()).ref("Submit")
    await page.do("x.replaceWith(x.cloneNode(true)); 1")
    has(await agent.well("browser_click", ref=ref), "note (element-replaced)")
    expect(await page.do("document.title") != ".", "it was clicked")


@shared
async def ref_of_a_page_that_was_left_is_refused(agent, site):
    await agent.open(site.page("<button>Submit</button>"))
    ref = (await agent.look()).ref("Submit")
    page = site.live("<title>.</title>" + SUBMIT)
    await agent.open(page)
    reply = await agent.badly("browser_click", ref=ref)
    has(reply, "no longer exists", "Take a new snapshot to see current page state.")
    expect(await page.do("document.title") == ".", "nothing was clicked", reply)


@shared
async def minor_change_is_used_with_a_note(agent, site):
    for before, after in (("Cart (2)", "Cart (3)"), ("Updated 12:01", "Updated 12:02")):
        page = site.live(f"<title>.</title><button id=x onclick='document.title += 1'>{before}</button>")
        await agent.open(page)
        ref = (await agent.look()).ref(before)
        await page.do(f"x.textContent = '{after}'; 1")
        reply = await agent.well("browser_click", ref=ref)
        has(reply, "Note: Element may have changed. Using current state.")
        expect(await page.do("document.title") == ".1", "it was clicked", reply)


@shared
async def changed_value_is_no_change(agent, site):
    page = site.live("<input id=x aria-label=Name>")
    await agent.open(page)
    ref = (await agent.look()).ref("Name")
    await page.do("x.value = 'Ann'; 1")
    reply = await agent.well("browser_type", ref=ref, text="Bob")
    lacks(reply, "may have changed")
    expect(await page.do("x.value") == "Bob", "it was filled in", reply)


@shared
async def previous_snapshot_is_remembered_and_none_before_it(agent, site):
    page = site.live(
        "<div id=box><button>First</button></div><button id=stays onclick='document.title = 1'>Stays</button>")
    await agent.open(page)
    first = await agent.look()
    await page.do("box.innerHTML = '<button>Second</button>'; 1")
    await until("the change is shown", lambda: shows(agent, "Second"), seconds=3)
    reply = await agent.badly("browser_click", ref=first.ref("First"))
    has(reply, "Element 'First button'", "no longer exists")
    await page.do("box.innerHTML = '<button>Third</button>'; 1")
    await until("the change is shown", lambda: shows(agent, "Third"), seconds=3)
    reply = await agent.badly("browser_click", ref=first.ref("First"))
    lacks(reply, "First button")
    has(reply, "snapshot")
    await agent.well("browser_click", ref=first.ref("Stays"))
    expect(await page.do("document.title") == "1", "what is still shown can be used")


@shared
async def ref_of_a_hidden_element_grows_too_old(agent, site):
    page = site.live("<title>.</title><button id=x onclick='document.title += 1'>Delete</button><p id=p>Not yet</p>")
    await agent.open(page)
    ref = (await agent.look()).ref("Delete")
    await page.do("x.hidden = true; 1")
    for words in ("Once", "Twice"):
        await page.do(f"p.textContent = '{words}'; 1")
        await until("the change is shown", lambda: shows(agent, words), seconds=3)
        lacks(await agent.look(), "Delete")
    await page.do("x.hidden = false; 1")
    reply = await agent.badly("browser_click", ref=ref)
    expect(await page.do("document.title") == ".", "nothing was clicked", reply)


@shared
async def other_ways_to_point_work_and_say_what_they_hit(agent, site):
    page = site.live(
        "<label>Name <input id=n></label><button onclick='document.title = 1'>Send it</button>"
        "<button>Twin</button><button>Twin</button>")
    await agent.open(page)
    for target in ("text=Send it", 'role=button[name="Send it"]', "css=label + button"):
        await page.do("document.title = ''; 1")
        reply = await agent.well("browser_click", ref=target)
        expect(await page.do("document.title") == "1", f"{target} was clicked", reply)
        has(reply, "Send it")
    await agent.well("browser_type", ref="label=Name", text="Ann")
    expect(await page.do("n.value") == "Ann", "the field was filled in")
    reply = await agent.badly("browser_click", ref="text=Twin")
    refs = re.findall(r"\be\d+\b", reply.theirs)
    expect(len(set(refs)) == 2, "both are named with their refs", reply)
    await agent.well("browser_click", ref=refs[0])
    has(await agent.badly("browser_click", ref="text=Nowhere"), "Nowhere")
