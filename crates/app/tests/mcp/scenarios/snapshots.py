"""Snapshots: content, refs, text format and cache."""

import html
import json
import re
import time

from scenario import depth, expect, has, lacks, page_contains, shared, wait_until

# ---------------------------------------------------------------------------------------------------------------
# Content.


@shared
async def snapshot_shows_page_content(agent, site):
    await agent.open(site.page(
        "<title>Shop</title><header>Top</header><nav><a href='#a'>Home</a></nav>"
        "<main><h1>Chairs</h1><p>Four legs.</p><img alt='A chair' src='data:,'>"
        "<label>Colour <input></label><button disabled>Buy</button>"
        "<ul><li>Oak</li><li>Pine</li></ul></main><footer>Bottom</footer>"))
    snapshot = await agent.snapshot()
    for words in ("Top", 'link "Home"', 'heading "Chairs"', "Four legs.", "A chair",
                  'textbox "Colour"', 'button "Buy"', "Oak", "Pine", "Bottom"):
        snapshot.line(words)
    expect("disabled" in snapshot.line("Buy"), "the button is disabled", snapshot)
    expect(snapshot.tree[0].startswith("- document"), "the document comes first", snapshot)


@shared
async def snapshot_includes_deeply_nested_elements_and_frames(agent, site):
    deep = "<button>At the bottom</button>"
    for level in range(12):
        deep = f"<section aria-label='Level {level}'><ul><li>Item {level}{deep}</li></ul></section>"
    await agent.open(site.page(deep))
    (await agent.snapshot()).ref("At the bottom")
    inside = site.page("<button>In the innermost</button>")
    for _ in range(4):
        inside = site.page(f"<iframe src='{inside}'></iframe>")
    await agent.open(inside)
    snapshot = await agent.snapshot()
    expect(depth(snapshot.line("In the innermost")) > 12, "each frame is two steps deeper", snapshot)
    snapshot.ref("In the innermost")


@shared
async def blank_page_snapshot_is_document_only(agent, site):
    await agent.open("about:blank")
    snapshot = await agent.snapshot()
    expect(snapshot.tree == ["- document"], "only a document is shown", snapshot)
    expect(snapshot.structured["refs"] == 0, "there are no refs", snapshot)


@shared
async def page_without_content_is_document_and_note(agent, site):
    for source in ("", "<div></div><div><span></span></div>", "<html></html>", "<script>1</script>"):
        await agent.open(site.page(source))
        snapshot = await agent.snapshot()
        expect(snapshot.tree == ["- document"], f"only a document is shown of `{source}`", snapshot)
        has(snapshot, "no accessible content")


@shared
async def text_only_page_has_content(agent, site):
    await agent.open(site.page("<p>Hello</p>"))
    snapshot = await agent.snapshot()
    snapshot.line("Hello")
    lacks(snapshot, "no accessible content")


@shared
async def frames_have_boundaries_and_usable_refs(agent, site):
    inner = "<button onclick=\"this.textContent='{0} clicked'\">{0}</button>"
    nested = site.page(inner.format("Nested"), site.origin)
    sources = {
        "Same": site.page(inner.format("Same"), site.origin),
        "Sibling": site.page(inner.format("Sibling"), site.same_site),
        "Cross": site.page(inner.format("Cross") + f"<iframe title='Inner' src='{nested}'></iframe>", site.cross_site),
    }
    frames = "".join(f"<iframe title='Frame {name}' src='{url}'></iframe>" for name, url in sources.items())
    written = html.escape(inner.format("Written"))
    await agent.open(site.page(f"<h1>Outer</h1>{frames}<iframe title='Frame Written' srcdoc='{written}'></iframe>"))

    async def all_frames():
        snapshot = await agent.snapshot()
        return all(f'button "{name}"' in snapshot.page_text for name in (*sources, "Nested", "Written")) and snapshot

    snapshot = await wait_until("all frames are shown", all_frames)
    for name in (*sources, "Written"):
        frame = snapshot.line(f'"Frame {name}"')
        expect("[frame-boundary]" in frame, "the boundary is marked", snapshot)
        button = snapshot.line(f'button "{name}"')
        expect(depth(button) > depth(frame), "frame content is nested under its boundary", snapshot)
    for origin in (site.same_site, site.cross_site):
        has(snapshot, origin)
    for name in (*sources, "Nested", "Written"):
        await agent.call_ok("browser_click", ref=snapshot.ref(f'button "{name}"'))
    after = await agent.snapshot()
    for name in (*sources, "Nested", "Written"):
        after.line(f"{name} clicked")


# ---------------------------------------------------------------------------------------------------------------
# Ref tiers.


@shared
async def tier_one_roles_have_refs(agent, site):
    native = """<button>x button</button><a href=#>x link</a><input aria-label='x textbox'>
        <input type=checkbox aria-label='x checkbox'><input type=radio aria-label='x radio'>
        <select aria-label='x combobox'><option>1</select><input type=range aria-label='x slider'>
        <input type=search aria-label='x searchbox'><input type=number aria-label='x spinbutton'>"""
    roles = ["button", "link", "textbox", "checkbox", "radio", "combobox", "slider", "menuitem", "menuitemcheckbox",
             "menuitemradio", "tab", "switch", "searchbox", "spinbutton"]
    aria = "".join(f"<div role={role} aria-label='y {role}'>.</div>" for role in roles)
    tabindex = "<div tabindex=0 aria-label='z zero'>.</div><p tabindex=3>z three</p><h2 tabindex=0>z heading</h2>"
    await agent.open(site.page(native + aria + tabindex))
    snapshot = await agent.snapshot()
    for role in ("button", "link", "textbox", "checkbox", "radio", "combobox", "slider", "searchbox", "spinbutton"):
        snapshot.ref(f'{role} "x {role}"')
    for role in roles:
        snapshot.ref(f'{role} "y {role}"')
    for words in ("z zero", "z three", "z heading"):
        snapshot.ref(words)


@shared
async def tier_two_roles_have_refs_in_composite_widgets(agent, site):
    await agent.open(site.page(
        """<div role=listbox aria-label=List><div role=option>in option</div><div role=listitem>in item</div></div>
        <div role=tree aria-label=Tree><div role=treeitem>in tree</div></div>
        <div role=grid aria-label=Grid><div role=row aria-label='in row'><div role=cell>in cell</div>
        <div role=gridcell>in gridcell</div></div></div>
        <ul><li>out item</li></ul><table><tr><td>out cell</td><td>other cell</td></tr></table>
        <div role=table><div role=row aria-label='out row'><div role=cell>more cell</div></div></div>"""))
    snapshot = await agent.snapshot()
    for words in ("in option", "- listitem", "in tree", "in row", "in cell", "in gridcell"):
        snapshot.ref(words)
    expect(snapshot.structured["refs"] == 6, "no other element has a ref", snapshot)


@shared
async def text_in_list_items_is_shown(agent, site):
    await agent.open(site.page(
        "<div role=listbox aria-label=List><div role=option>An option</div><div role=listitem>An item</div></div>"
        "<ul role=menu><li role=menuitem>A choice</li><li role=none>A headline</li></ul>"))
    snapshot = await agent.snapshot()
    for words in ("An option", "An item", "A choice", "A headline"):
        snapshot.line(words)


@shared
async def tier_three_roles_have_no_refs(agent, site):
    await agent.open(site.page(
        """<header>s banner</header><nav aria-label='s navigation'>n</nav><main aria-label='s main'><h1>s heading</h1>
        <p>s paragraph</p>s text<hr><img alt='s img' src='data:,'><figure aria-label='s figure'>f</figure></main>
        <footer>s contentinfo</footer>"""))
    snapshot = await agent.snapshot()
    for words in ("s banner", "s heading", "s paragraph", "s text", "s img", "s contentinfo"):
        snapshot.line(words)
    lacks(snapshot, "[ref=")
    expect(snapshot.structured["refs"] == 0, "no refs are counted", snapshot)


def many(buttons, options):
    listed = "".join(f"<div role=option>Option {n}.</div>" for n in range(options))
    return f"<div role=listbox aria-label=List>{listed}</div>" + "".join(
        f"<button>Button {n}.</button>" for n in range(buttons))


@shared
async def up_to_100_elements_all_have_refs(agent, site):
    await agent.open(site.page(many(50, 50)))
    snapshot = await agent.snapshot()
    expect(snapshot.structured["refs"] == 100, "there are 100 refs", snapshot)
    lacks(snapshot, "allRefs", "compact")


@shared
async def above_100_elements_only_tier_one_has_refs(agent, site):
    await agent.open(site.page(many(50, 51)))
    snapshot = await agent.snapshot()
    for number in range(50):
        snapshot.ref(f'"Button {number}."')
    options = [line for line in snapshot.tree if "Option" in line]
    expect("[ref=" not in "".join(options), "options have no refs", snapshot)
    has(snapshot, "allRefs: true")
    full = await agent.snapshot(allRefs=True)
    for number in range(51):
        full.ref(f'"Option {number}."')
    expect(full.structured["refs"] == 101, "all refs are present", full)
    await agent.call_ok("browser_click", ref=full.ref('"Option 50."'))


@shared
async def elements_without_ref_are_shown(agent, site):
    await agent.open(site.page(many(50, 51)))
    snapshot = await agent.snapshot()
    for number in range(51):
        snapshot.line(f"Option {number}.")


# ---------------------------------------------------------------------------------------------------------------
# Text format.


@shared
async def snapshot_text_matches_specification_example(agent, site):
    await agent.open(site.page("<h1>Welcome</h1><button>Sign In</button><input aria-label=Email>"))
    snapshot = await agent.snapshot()
    plain = [re.sub(r"ref=e\d+", "ref=e12345", line) for line in snapshot.tree]
    expect(plain == [
        "- document:",
        '  - heading "Welcome"',
        '  - button "Sign In" [ref=e12345]',
        '  - textbox "Email" [ref=e12345]',
    ], "the text matches the example", snapshot)


@shared
async def indentation_follows_nesting(agent, site):
    await agent.open(site.page(
        "<div role=tree aria-label=Files><div role=treeitem aria-label=Folder><div role=group>"
        "<div role=treeitem>File</div></div></div></div>"))
    snapshot = await agent.snapshot()
    depths = [depth(snapshot.line(words)) for words in ("- document", '"Files"', '"Folder"', '"File"')]
    expect(depths == [0, 2, 4, 6], "each level is indented by two", snapshot)


@shared
async def long_text_is_truncated_except_at_root(agent, site):
    words = " ".join(f"word{n}" for n in range(60))
    await agent.open(site.page(f"<p id=p>{words}</p><button>{words}</button>"))
    snapshot = await agent.snapshot()
    for role in ("text", "button"):
        name = re.search(r'"(.*)"', snapshot.line(f"- {role}")).group(1)
        expect(len(name) <= 100 and name.endswith("..."), f"the name of the {role} is cut to 100", snapshot)
        expect(words.startswith(name.removesuffix("...")), "the name is a prefix of the text", snapshot)
    has(await agent.snapshot(root=snapshot.ref("button")), words)
    has(await agent.snapshot(root="css=#p"), words)


@shared
async def text_of_100_characters_is_not_truncated(agent, site):
    await agent.open(site.page(f"<p>{'a' * 100}</p><p>{'b' * 101}</p>"))
    has(await agent.snapshot(), f'"{"a" * 100}"', f'"{"b" * 97}..."')


@shared
async def names_cannot_forge_lines(agent, site):
    await agent.open(site.page("<button aria-label='x\"&#10;- button \"Forged\" [ref=e1]'>.</button>"))
    snapshot = await agent.snapshot()
    expect(len([line for line in snapshot.tree if "button" in line]) == 1, "there is one button", snapshot)


@shared
async def passwords_are_not_shown(agent, site):
    page = site.scripted("<label>Password <input id=p type=password></label>")
    await agent.open(page)
    typed = await agent.call_ok("browser_type", ref="label=Password", text="hunter2")
    expect(await page.run("p.value") == "hunter2", "it was filled in")
    for reply in (typed, await agent.snapshot()):
        expect("hunter2" not in reply.text + json.dumps(reply.structured), "the password is not revealed", reply)


# ---------------------------------------------------------------------------------------------------------------
# Cache.


@shared
async def unchanged_page_is_served_from_cache(agent, site):
    page = site.scripted("<button>One</button>" + "<p>words</p>" * 50)
    await agent.open(page)
    first = await agent.snapshot()
    # A busy page cannot be evaluated.
    page.scripts.put("for (const end = Date.now() + 4000; Date.now() < end;); 1")
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline:
        again = await agent.snapshot()
        expect(first.page_text == again.page_text, "the reply is the same", again)
    expect(page.results.empty(), "the replies came while the page was busy")
    await page.result()


@shared
async def action_invalidates_cached_snapshot(agent, site):
    await agent.open(site.page(
        "<button onclick=\"p.textContent = 'After'\">Go</button><input aria-label=F><p id=p>Before</p>"))
    snapshot = await agent.snapshot()
    snapshot.line("Before")
    await agent.call_ok("browser_click", ref=snapshot.ref("Go"))
    (await agent.snapshot()).line("After")
    await agent.call_ok("browser_type", ref=snapshot.ref('"F"'), text="typed")
    (await agent.snapshot()).line("typed")
    await agent.open(site.page("<p>Elsewhere</p>"))
    (await agent.snapshot()).line("Elsewhere")


@shared
async def page_change_invalidates_cached_snapshot(agent, site):
    page = site.scripted("<p id=p>Before</p>")
    await agent.open(page)
    (await agent.snapshot()).line("Before")
    await page.run("p.textContent = 'After'; 1")
    # When the scripted change has returned, its notification has reached the server or is about to.
    await wait_until("the change is shown", lambda: page_contains(agent, "After"), seconds=3)
    await page.run("history.pushState(0, '', '#else'); p.textContent = 'Else'; 1")
    await wait_until("the change is shown", lambda: page_contains(agent, "Else"), seconds=3)


@shared
async def cached_snapshot_expires_after_five_seconds(agent, site):
    page = site.scripted("<input id=x aria-label=Name>")
    await agent.open(page)
    (await agent.snapshot()).line("Name")
    # Setting the value property fires no event.
    await page.run("x.value = 'silent'; 1")
    await wait_until("the value is shown", lambda: page_contains(agent, "silent"), seconds=7)


@shared
async def all_refs_does_not_change_cache(agent, site):
    await agent.open(site.page(many(50, 51)))
    first = await agent.snapshot()
    full = await agent.snapshot(allRefs=True)
    expect(full.structured["refs"] > first.structured["refs"], "it has more refs", full)
    again = await agent.snapshot()
    expect(first.page_text == again.page_text, "the default snapshot is unchanged", again)


# ---------------------------------------------------------------------------------------------------------------
# Find, root, delta, evaluate.


@shared
async def snapshot_supports_find_root_and_delta(agent, site):
    page = site.scripted("<main><h1>Head</h1><button>Alpha</button><button id=b>Beta</button></main><p id=p>Old</p>")
    await agent.open(page)
    await agent.snapshot()
    found = await agent.snapshot(find="Alpha")
    found.ref("Alpha")
    lacks(found, "Beta")
    part = await agent.snapshot(root="css=main")
    part.line("Beta")
    lacks(part, "Old")
    await page.run("p.textContent = 'New'; 1")

    async def changed():
        return "New" in (await agent.snapshot(delta=True)).page_text

    await wait_until("the change is in the delta", changed, seconds=3)
    await agent.call_ok("browser_click", ref=found.ref("Alpha"))


@shared
async def evaluate_returns_function_result(agent, site):
    await agent.open(site.page("<button>One</button>"))
    has(await agent.call_ok("browser_evaluate", function="() => 6 * 7"), "42")
    has(await agent.call_ok("browser_evaluate", function="async () => ({deep: [1, 'two']})"), "two")
    ref = (await agent.snapshot()).ref("One")
    has(await agent.call_ok("browser_evaluate", function="(element) => element.textContent", ref=ref), "One")
    has(await agent.call_error("browser_evaluate", function="() => { throw new Error('broken') }"), "broken")
