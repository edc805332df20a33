"""What a snapshot shows, and how old it may be."""

import html
import json
import re
import time

from scenario import depth, expect, has, lacks, shared, shows, until

# ---------------------------------------------------------------------------------------------------------------
# Capture.


@shared
async def snapshot_shows_the_page(agent, site):
    await agent.open(site.page(
        "<title>Shop</title><header>Top</header><nav><a href='#a'>Home</a></nav>"
        "<main><h1>Chairs</h1><p>Four legs.</p><img alt='A chair' src='data:,'>"
        "<label>Colour <input></label><button disabled>Buy</button>"
        "<ul><li>Oak</li><li>Pine</li></ul></main><footer>Bottom</footer>"))
    shown = await agent.look()
    for words in ("Top", 'link "Home"', 'heading "Chairs"', "Four legs.", "A chair",
                  'textbox "Colour"', 'button "Buy"', "Oak", "Pine", "Bottom"):
        shown.line(words)
    expect("disabled" in shown.line("Buy"), "the button is disabled", shown)
    expect(shown.tree[0].startswith("- document"), "the document comes first", shown)


@shared
async def snapshot_reaches_deep_into_the_page(agent, site):
    deep = "<button>At the bottom</button>"
    for level in range(12):
        deep = f"<section aria-label='Level {level}'><ul><li>Item {level}{deep}</li></ul></section>"
    await agent.open(site.page(deep))
    (await agent.look()).ref("At the bottom")
    inside = site.page("<button>In the innermost</button>")
    for _ in range(4):
        inside = site.page(f"<iframe src='{inside}'></iframe>")
    await agent.open(inside)
    shown = await agent.look()
    expect(depth(shown.line("In the innermost")) > 12, "each frame is two steps deeper", shown)
    shown.ref("In the innermost")


@shared
async def blank_page_is_a_minimal_document(agent, site):
    await agent.open("about:blank")
    shown = await agent.look()
    expect(shown.tree == ["- document"], "only a document is shown", shown)
    expect(shown.facts["refs"] == 0, "there are no refs", shown)


@shared
async def page_without_content_is_a_document_and_a_note(agent, site):
    for source in ("", "<div></div><div><span></span></div>", "<html></html>", "<script>1</script>"):
        await agent.open(site.page(source))
        shown = await agent.look()
        expect(shown.tree == ["- document"], f"only a document is shown of `{source}`", shown)
        has(shown, "no accessible content")


@shared
async def page_with_nothing_but_words_has_content(agent, site):
    await agent.open(site.page("<p>Hello</p>"))
    shown = await agent.look()
    shown.line("Hello")
    lacks(shown, "no accessible content")


@shared
async def frames_are_shown_with_boundaries_and_can_be_used(agent, site):
    inner = "<button onclick=\"this.textContent='{0} clicked'\">{0}</button>"
    nested = site.page(inner.format("Nested"), site.home)
    sources = {
        "Same": site.page(inner.format("Same"), site.home),
        "Sibling": site.page(inner.format("Sibling"), site.sibling),
        "Abroad": site.page(inner.format("Abroad") + f"<iframe title='Inner' src='{nested}'></iframe>", site.abroad),
    }
    frames = "".join(f"<iframe title='Frame {name}' src='{url}'></iframe>" for name, url in sources.items())
    written = html.escape(inner.format("Written"))
    await agent.open(site.page(f"<h1>Outer</h1>{frames}<iframe title='Frame Written' srcdoc='{written}'></iframe>"))

    async def all_there():
        shown = await agent.look()
        return all(f'button "{name}"' in shown.theirs for name in (*sources, "Nested", "Written")) and shown

    shown = await until("all frames are shown", all_there)
    for name in (*sources, "Written"):
        frame = shown.line(f'"Frame {name}"')
        expect("[frame-boundary]" in frame, "the boundary is marked", shown)
        button = shown.line(f'button "{name}"')
        expect(depth(button) > depth(frame), "what is in a frame is under it", shown)
    for origin in (site.sibling, site.abroad):
        has(shown, origin)
    for name in (*sources, "Nested", "Written"):
        await agent.well("browser_click", ref=shown.ref(f'button "{name}"'))
    after = await agent.look()
    for name in (*sources, "Nested", "Written"):
        after.line(f"{name} clicked")


# ---------------------------------------------------------------------------------------------------------------
# Who gets a ref.


@shared
async def first_tier_has_refs(agent, site):
    native = """<button>x button</button><a href=#>x link</a><input aria-label='x textbox'>
        <input type=checkbox aria-label='x checkbox'><input type=radio aria-label='x radio'>
        <select aria-label='x combobox'><option>1</select><input type=range aria-label='x slider'>
        <input type=search aria-label='x searchbox'><input type=number aria-label='x spinbutton'>"""
    roles = ["button", "link", "textbox", "checkbox", "radio", "combobox", "slider", "menuitem", "menuitemcheckbox",
             "menuitemradio", "tab", "switch", "searchbox", "spinbutton"]
    aria = "".join(f"<div role={role} aria-label='y {role}'>.</div>" for role in roles)
    tabindex = "<div tabindex=0 aria-label='z zero'>.</div><p tabindex=3>z three</p><h2 tabindex=0>z heading</h2>"
    await agent.open(site.page(native + aria + tabindex))
    shown = await agent.look()
    for role in ("button", "link", "textbox", "checkbox", "radio", "combobox", "slider", "searchbox", "spinbutton"):
        shown.ref(f'{role} "x {role}"')
    for role in roles:
        shown.ref(f'{role} "y {role}"')
    for words in ("z zero", "z three", "z heading"):
        shown.ref(words)


@shared
async def second_tier_has_refs_where_one_chooses(agent, site):
    await agent.open(site.page(
        """<div role=listbox aria-label=List><div role=option>in option</div><div role=listitem>in item</div></div>
        <div role=tree aria-label=Tree><div role=treeitem>in tree</div></div>
        <div role=grid aria-label=Grid><div role=row aria-label='in row'><div role=cell>in cell</div>
        <div role=gridcell>in gridcell</div></div></div>
        <ul><li>out item</li></ul><table><tr><td>out cell</td><td>other cell</td></tr></table>
        <div role=table><div role=row aria-label='out row'><div role=cell>more cell</div></div></div>"""))
    shown = await agent.look()
    for words in ("in option", "- listitem", "in tree", "in row", "in cell", "in gridcell"):
        shown.ref(words)
    expect(shown.facts["refs"] == 6, "nothing else has one", shown)


@shared
async def words_in_a_list_are_shown(agent, site):
    await agent.open(site.page(
        "<div role=listbox aria-label=List><div role=option>An option</div><div role=listitem>An item</div></div>"
        "<ul role=menu><li role=menuitem>A choice</li><li role=none>A headline</li></ul>"))
    shown = await agent.look()
    for words in ("An option", "An item", "A choice", "A headline"):
        shown.line(words)


@shared
async def third_tier_has_none(agent, site):
    await agent.open(site.page(
        """<header>s banner</header><nav aria-label='s navigation'>n</nav><main aria-label='s main'><h1>s heading</h1>
        <p>s paragraph</p>s text<hr><img alt='s img' src='data:,'><figure aria-label='s figure'>f</figure></main>
        <footer>s contentinfo</footer>"""))
    shown = await agent.look()
    for words in ("s banner", "s heading", "s paragraph", "s text", "s img", "s contentinfo"):
        shown.line(words)
    lacks(shown, "[ref=")
    expect(shown.facts["refs"] == 0, "no refs are counted", shown)


def many(buttons, options):
    listed = "".join(f"<div role=option>Option {n}.</div>" for n in range(options))
    return f"<div role=listbox aria-label=List>{listed}</div>" + "".join(
        f"<button>Button {n}.</button>" for n in range(buttons))


@shared
async def up_to_100_elements_all_have_refs(agent, site):
    await agent.open(site.page(many(50, 50)))
    shown = await agent.look()
    expect(shown.facts["refs"] == 100, "there are 100 refs", shown)
    lacks(shown, "allRefs", "compact")


@shared
async def above_100_elements_only_the_first_tier_has_refs(agent, site):
    await agent.open(site.page(many(50, 51)))
    shown = await agent.look()
    for number in range(50):
        shown.ref(f'"Button {number}."')
    expect(not [line for line in shown.tree if "Option" in line and "[ref=" in line], "options have no refs", shown)
    has(shown, "allRefs: true")
    full = await agent.look(allRefs=True)
    for number in range(51):
        full.ref(f'"Option {number}."')
    expect(full.facts["refs"] == 101, "all refs are there", full)
    await agent.well("browser_click", ref=full.ref('"Option 50."'))


@shared
async def what_has_no_ref_is_shown_all_the_same(agent, site):
    await agent.open(site.page(many(50, 51)))
    shown = await agent.look()
    for number in range(51):
        shown.line(f"Option {number}.")


# ---------------------------------------------------------------------------------------------------------------
# The text.


@shared
async def text_is_that_of_the_example(agent, site):
    await agent.open(site.page("<h1>Welcome</h1><button>Sign In</button><input aria-label=Email>"))
    shown = await agent.look()
    plain = [re.sub(r"ref=e\d+", "ref=e12345", line) for line in shown.tree]
    expect(plain == [
        "- document:",
        '  - heading "Welcome"',
        '  - button "Sign In" [ref=e12345]',
        '  - textbox "Email" [ref=e12345]',
    ], "the example is met", shown)


@shared
async def indentation_shows_what_is_in_what(agent, site):
    await agent.open(site.page(
        "<div role=tree aria-label=Files><div role=treeitem aria-label=Folder><div role=group>"
        "<div role=treeitem>File</div></div></div></div>"))
    shown = await agent.look()
    depths = [depth(shown.line(words)) for words in ("- document", '"Files"', '"Folder"', '"File"')]
    expect(depths == [0, 2, 4, 6], "each is deeper than the last", shown)


@shared
async def long_text_is_cut_and_given_in_full_for_a_root(agent, site):
    words = " ".join(f"word{n}" for n in range(60))
    await agent.open(site.page(f"<p id=p>{words}</p><button>{words}</button>"))
    shown = await agent.look()
    for role in ("text", "button"):
        name = re.search(r'"(.*)"', shown.line(f"- {role}")).group(1)
        expect(len(name) <= 100 and name.endswith("..."), f"the name of the {role} is cut to 100", shown)
        expect(words.startswith(name.removesuffix("...")), "it begins as the text does", shown)
    has(await agent.look(root=shown.ref("button")), words)
    has(await agent.look(root="css=#p"), words)


@shared
async def text_of_100_characters_is_not_cut(agent, site):
    await agent.open(site.page(f"<p>{'a' * 100}</p><p>{'b' * 101}</p>"))
    has(await agent.look(), f'"{"a" * 100}"', f'"{"b" * 97}..."')


@shared
async def names_cannot_forge_lines(agent, site):
    await agent.open(site.page("<button aria-label='x\"&#10;- button \"Forged\" [ref=e1]'>.</button>"))
    shown = await agent.look()
    expect(len([line for line in shown.tree if "button" in line]) == 1, "there is one button", shown)


@shared
async def passwords_are_not_shown(agent, site):
    page = site.live("<label>Password <input id=p type=password></label>")
    await agent.open(page)
    typed = await agent.well("browser_type", ref="label=Password", text="hunter2")
    expect(await page.do("p.value") == "hunter2", "it was filled in")
    for reply in (typed, await agent.look()):
        expect("hunter2" not in reply.text + json.dumps(reply.facts), "it is not told", reply)


# ---------------------------------------------------------------------------------------------------------------
# The cache.


@shared
async def unchanged_page_is_answered_without_asking_it(agent, site):
    page = site.live("<button>One</button>" + "<p>words</p>" * 50)
    await agent.open(page)
    first = await agent.look()
    # A page that is busy answers nobody.
    page.orders.put("for (const end = Date.now() + 4000; Date.now() < end;); 1")
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline:
        again = await agent.look()
        expect(first.theirs == again.theirs, "the answer is the same", again)
    expect(page.results.empty(), "the answers came while the page was busy")
    await page.result()


@shared
async def act_makes_the_next_snapshot_fresh(agent, site):
    await agent.open(site.page(
        "<button onclick=\"p.textContent = 'After'\">Go</button><input aria-label=F><p id=p>Before</p>"))
    shown = await agent.look()
    shown.line("Before")
    await agent.well("browser_click", ref=shown.ref("Go"))
    (await agent.look()).line("After")
    await agent.well("browser_type", ref=shown.ref('"F"'), text="typed")
    (await agent.look()).line("typed")
    await agent.open(site.page("<p>Elsewhere</p>"))
    (await agent.look()).line("Elsewhere")


@shared
async def change_by_the_page_itself_makes_it_fresh(agent, site):
    page = site.live("<p id=p>Before</p>")
    await agent.open(page)
    (await agent.look()).line("Before")
    await page.do("p.textContent = 'After'; 1")
    # When the page has told us of the change, word of it has reached the server or is about to.
    await until("the change is shown", lambda: shows(agent, "After"), seconds=3)
    await page.do("history.pushState(0, '', '#else'); p.textContent = 'Else'; 1")
    await until("the change is shown", lambda: shows(agent, "Else"), seconds=3)


@shared
async def snapshot_is_at_most_five_seconds_old(agent, site):
    page = site.live("<input id=x aria-label=Name>")
    await agent.open(page)
    (await agent.look()).line("Name")
    # No event tells of this.
    await page.do("x.value = 'silent'; 1")
    await until("the value is shown", lambda: shows(agent, "silent"), seconds=7)


@shared
async def all_refs_leave_the_cache_as_it_is(agent, site):
    await agent.open(site.page(many(50, 51)))
    first = await agent.look()
    full = await agent.look(allRefs=True)
    expect(full.facts["refs"] > first.facts["refs"], "it has more refs", full)
    again = await agent.look()
    expect(first.theirs == again.theirs, "the usual snapshot is as before", again)


# ---------------------------------------------------------------------------------------------------------------
# Looking at parts.


@shared
async def snapshot_shows_parts_and_changes(agent, site):
    page = site.live("<main><h1>Head</h1><button>Alpha</button><button id=b>Beta</button></main><p id=p>Old</p>")
    await agent.open(page)
    await agent.look()
    found = await agent.look(find="Alpha")
    found.ref("Alpha")
    lacks(found, "Beta")
    part = await agent.look(root="css=main")
    part.line("Beta")
    lacks(part, "Old")
    await page.do("p.textContent = 'New'; 1")

    async def changed():
        return "New" in (await agent.look(delta=True)).theirs

    await until("the change is told", changed, seconds=3)
    await agent.well("browser_click", ref=found.ref("Alpha"))


@shared
async def evaluate_gives_what_a_function_returns(agent, site):
    await agent.open(site.page("<button>One</button>"))
    has(await agent.well("browser_evaluate", function="() => 6 * 7"), "42")
    has(await agent.well("browser_evaluate", function="async () => ({deep: [1, 'two']})"), "two")
    ref = (await agent.look()).ref("One")
    has(await agent.well("browser_evaluate", function="(element) => element.textContent", ref=ref), "One")
    has(await agent.badly("browser_evaluate", function="() => { throw new Error('broken') }"), "broken")
