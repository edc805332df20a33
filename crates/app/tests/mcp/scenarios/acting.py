"""What is done to a page, and what is told of it."""

import anyio

from scenario import expect, has, lacks, milliseconds, shared

# ---------------------------------------------------------------------------------------------------------------
# Acting.


FORM = """<title>Form</title><form onsubmit="document.title = 'sent ' + q.value; return false">
    <label>Query <input id=q onkeydown="keys.push(event.key)"></label><label>Agree <input type=checkbox id=c></label>
    <label>Colour <select id=s><option value=r>Red<option value=g>Green<option value=b>Blue</select></label>
    <label>Two <select id=m multiple><option>A<option>B<option>C</select></label><button>Go</button></form>
    <script>keys = []</script>"""


@shared
async def type_replaces_what_is_in_a_field(agent, site):
    page = site.live(FORM)
    await agent.open(page)
    ref = (await agent.look()).ref('textbox "Query"')
    await agent.well("browser_type", ref=ref, text="first")
    has(await agent.well("browser_type", ref=ref, text="schön 日本 👍"), "changed")
    expect(await page.do("q.value") == "schön 日本 👍", "the text is replaced")
    (await agent.look()).line("schön 日本 👍")


@shared
async def type_slowly_appends_key_by_key(agent, site):
    page = site.live(FORM)
    await agent.open(page)
    ref = (await agent.look()).ref('textbox "Query"')
    await agent.well("browser_type", ref=ref, text="ab")
    await page.do("keys = []; 1")
    await agent.well("browser_type", ref=ref, text="cd", slowly=True)
    expect(await page.do("q.value") == "abcd", "the text is appended")
    expect(await page.do("keys") == ["c", "d"], "each key was pressed")


@shared
async def type_and_submit_sends_the_form(agent, site):
    page = site.live(FORM)
    await agent.open(page)
    await agent.well("browser_type", ref="label=Query", text="hello", submit=True)
    expect(await page.do("document.title") == "sent hello", "the form was sent")


@shared
async def fill_form_fills_each_kind_of_field(agent, site):
    page = site.live(FORM)
    await agent.open(page)
    shown = await agent.look()
    fields = [
        {"name": "Query", "type": "textbox", "ref": shown.ref('textbox "Query"'), "value": "words"},
        {"name": "Agree", "type": "checkbox", "ref": shown.ref('checkbox "Agree"'), "value": "true"},
        {"name": "Colour", "type": "combobox", "ref": shown.ref('combobox "Colour"'), "value": "Green"},
    ]
    reply = await agent.well("browser_fill_form", fields=fields)
    expect(await page.do("[q.value, c.checked, s.value]") == ["words", True, "g"], "all are filled in", reply)
    fields[1]["value"] = False
    await agent.well("browser_fill_form", fields=fields)
    expect(await page.do("c.checked") is False, "the box is unchecked")


@shared
async def refs_in_replies_are_spelled_as_in_snapshots(agent, site):
    await agent.open(site.page(FORM))
    shown = await agent.look()
    fields = [
        {"ref": shown.ref('textbox "Query"'), "value": "words"},
        {"ref": shown.ref('checkbox "Agree"'), "value": "true"},
    ]
    lacks(await agent.well("browser_fill_form", fields=fields), "@e")


@shared
async def select_option_takes_texts_and_values(agent, site):
    page = site.live(FORM)
    await agent.open(page)
    shown = await agent.look()
    for value, chosen in (("Blue", "b"), ("g", "g")):
        await agent.well("browser_select_option", ref=shown.ref('combobox "Colour"'), values=[value])
        expect(await page.do("s.value") == chosen, f"{value} is chosen")
    await agent.well("browser_select_option", ref=shown.ref('listbox "Two"'), values=["A", "C"])
    expect(await page.do("[...m.selectedOptions].map(it => it.text)") == ["A", "C"], "both are chosen")
    reply = await agent.badly("browser_select_option", ref=shown.ref('combobox "Colour"'), values=["Mauve"])
    has(reply, "Mauve", "Red", "Green", "Blue")


@shared
async def press_key_reaches_the_focus(agent, site):
    page = site.live(FORM)
    await agent.open(page)
    await agent.well("browser_type", ref="label=Query", text="abc")
    await agent.well("browser_press_key", key="Control+a")
    await agent.well("browser_press_key", key="Delete")
    expect(await page.do("q.value") == "", "all was deleted")
    await agent.well("browser_press_key", key="x")
    await agent.well("browser_press_key", key="Enter")
    expect(await page.do("document.title") == "sent x", "the form was sent")
    has(await agent.badly("browser_press_key", key="NoSuchKey"), "NoSuchKey")


@shared
async def hover_moves_the_mouse(agent, site):
    await agent.open(site.page(
        "<button onmouseenter=\"p.textContent = 'Menu is open'\">Menu</button><p id=p>closed</p>"))
    await agent.well("browser_hover", ref=(await agent.look()).ref('"Menu"'))
    (await agent.look()).line("Menu is open")


@shared
async def click_takes_buttons_and_counts(agent, site):
    page = site.live(
        "<script>seen = []</script><button oncontextmenu='seen.push(`right`); return false' "
        "ondblclick='seen.push(`double`)'>Target</button>")
    await agent.open(page)
    ref = (await agent.look()).ref("Target")
    await agent.well("browser_click", ref=ref, button="right")
    await agent.well("browser_click", ref=ref, doubleClick=True)
    expect(await page.do("seen") == ["right", "double"], "each came through")
    has(await agent.badly("browser_click", ref=ref, button="upper"), "button", "middle")


@shared
async def click_takes_modifiers(agent, site):
    page = site.live(
        "<script>seen = []</script><button onclick='seen.push([event.altKey, event.shiftKey])'>Target</button>")
    await agent.open(page)
    ref = (await agent.look()).ref("Target")
    for alt, shift in (("alt", "shift"), ("Alt", "Shift")):
        await agent.well("browser_click", ref=ref, modifiers=[alt])
        await agent.well("browser_click", ref=ref, modifiers=[alt, shift])
    expect(await page.do("seen") == [[True, False], [True, True]] * 2, "each came through")


@shared
async def click_tells_what_came_of_it(agent, site):
    await agent.open(site.page(
        "<button onclick=\"p.textContent = 'New words'\">Works</button><button>Idle</button>"
        "<a href='?there'>Away</a><p id=p>.</p>"))
    shown = await agent.look()
    has(await agent.well("browser_click", ref=shown.ref("Works")), "changed", "New words")
    has(await agent.well("browser_click", ref=shown.ref("Idle")), "no effect")
    await agent.badly("browser_click", ref=shown.ref("Idle"), expect="changed")
    has(await agent.well("browser_click", ref=shown.ref("Away")), "navigated")


@shared
async def covered_and_disabled_elements_are_not_clicked(agent, site):
    page = site.live(
        "<title>.</title><button onclick='document.title = 1'>Under</button><button disabled>Off</button>"
        "<div style='position:fixed;inset:0;background:#fff'>Curtain</div>")
    await agent.open(page)
    shown = await agent.look()
    has(await agent.badly("browser_click", ref=shown.ref("Under")), "covered", "Curtain")
    has(await agent.badly("browser_click", ref=shown.ref("Off")), "disabled")
    expect(await page.do("document.title") == ".", "nothing was clicked")


@shared
async def can_tells_without_acting(agent, site):
    page = site.live(
        "<title>.</title><button onclick='document.title = 1'>Free</button><button disabled>Off</button>"
        "<input aria-label=Field onfocus='document.title = 2'>")
    await agent.open(page)
    shown = await agent.look()
    for action, words in (("click", "Free"), ("hover", "Free"), ("fill", "Field")):
        reply = await agent.well("browser_can", action=action, ref=shown.ref(words))
        expect(reply.facts["state"] == "ok", f"{action} would work", reply)
    for action, words in (("click", "Off"), ("fill", "Free")):
        reply = await agent.well("browser_can", action=action, ref=shown.ref(words))
        expect(reply.facts["state"] == "fail", f"{action} would not work", reply)
        expect(len(reply.theirs) > 10, "it says why", reply)
    reply = await agent.well("browser_can", action="click", ref="e999999")
    expect(reply.facts["state"] == "fail", "there is no such ref", reply)
    expect(await page.do("document.title") == ".", "nothing was done")


@shared
async def wait_for_ends_when_a_text_comes_or_goes(agent, site):
    for then, arguments in (
        ("p.textContent = 'Ready now'", {"text": "Ready now"}),
        ("p.remove()", {"textGone": "Loading"}),
    ):
        page = site.live("<p id=p>Loading</p>")
        await agent.open(page)
        await page.do(f"setTimeout(() => {{ {then} }}, 700); 1")
        took, _ = await milliseconds(agent.well("browser_wait_for", **arguments))
        expect(took < 5000, f"it took {took:.0f} ms")


@shared
async def wait_for_time_takes_that_long(agent, site):
    took, _ = await milliseconds(agent.well("browser_wait_for", time=0.5))
    expect(450 <= took < 5000, f"it took {took:.0f} ms")


@shared
async def wait_for_needs_exactly_one_thing(agent, site):
    for arguments in ({}, {"text": "a", "time": 1}, {"text": "a", "textGone": "b"}):
        has(await agent.badly("browser_wait_for", **arguments), "text", "textGone", "time")
    has(await agent.badly("browser_wait_for", time=61), "60")


@shared
async def other_pages_answer_while_one_waits(agent, site):
    page = site.live("<p id=p>Wait</p>")
    first = (await agent.open(page)).page
    second = (await agent.well("browser_tabs", action="new")).page
    replies = []
    async with anyio.create_task_group() as tasks:
        async def wait():
            replies.append(await agent.call("browser_wait_for", text="Ready now", page=first))
        tasks.start_soon(wait)
        await agent.open(site.page("<button>Other</button>"))
        await agent.well("browser_click", ref=(await agent.look()).ref("Other"))
        expect(not replies, "it waits", replies)
        await page.do("p.textContent = 'Ready now'; 1")
    expect(not replies[0].is_error, "both were done", replies[0])
    await agent.well("browser_tabs", action="close", page=second)


@shared
async def dialog_is_reported_and_answered(agent, site):
    page = site.live(
        "<button onclick=\"document.title = confirm('Really sure?')\">Confirm</button>"
        "<button onclick=\"document.title = prompt('Your name?', 'x')\">Prompt</button>"
        "<button onclick=\"alert('Hear this'); document.title = 'heard'\">Alert</button>")
    await agent.open(page)
    shown = await agent.look()
    for button, question, answer, title in (
        ("Confirm", "Really sure?", {"accept": True}, "true"),
        ("Confirm", "Really sure?", {"accept": False}, "false"),
        ("Prompt", "Your name?", {"accept": True, "promptText": "Ann"}, "Ann"),
        ("Prompt", "Your name?", {"accept": True}, "x"),
        ("Prompt", "Your name?", {"accept": False}, "null"),
        ("Alert", "Hear this", {"accept": True}, "heard"),
    ):
        reply = await agent.well("browser_click", ref=shown.ref(f'"{button}"'))
        has(reply, "dialog", question, "browser_handle_dialog")
        has(await agent.badly("browser_snapshot"), "browser_handle_dialog")
        await agent.well("browser_handle_dialog", **answer)
        expect(await page.do("document.title") == title, f"the {button} got its answer", reply)
    await agent.badly("browser_handle_dialog", accept=True)


@shared
async def replies_speak_of_tools_and_not_of_the_command_line(agent, site):
    await agent.open(site.page("<button disabled>Off</button><button onclick=\"alert('Hear this')\">Alert</button>"))
    refused = await agent.badly("browser_click", ref="text=Off")
    asked = await agent.well("browser_click", ref="text=Alert")
    await agent.well("browser_handle_dialog", accept=True)
    for reply in (refused, asked):
        lacks(reply, "--timeout", "agbrowse dialog")


@shared
async def dialog_of_a_page_that_loads_is_reported(agent, site):
    reply = await agent.call("browser_navigate", url=site.page("<script>alert('At once')</script><p>After</p>"))
    has(reply, "dialog")
    await agent.well("browser_handle_dialog", accept=True)
    (await agent.look()).line("After")


# ---------------------------------------------------------------------------------------------------------------
# Files.


def some_files(agent, *names):
    """Paths of files with these names, one word in each."""
    paths = [agent.server.folder / name for name in names]
    for path in paths:
        path.write_text("words")
    return [str(path) for path in paths]


def asking(how, script="", attributes=""):
    """A page with a hidden field that says what it gets, and a button that does something with it."""
    return (f"<input type=file id=i hidden {attributes}><button onclick='{how}'>Attach</button><p id=o>Nothing yet</p>"
            f"<script>const say = (it) => o.textContent = [...it.files].map(({{ name }}) => name).join() || 'emptied';"
            f"i.onchange = () => say(i); i.oncancel = () => o.textContent = 'thought better of it';{script}</script>")


@shared
async def file_chooser_is_told_and_answered(agent, site):
    one, two = some_files(agent, "one.txt", "two.txt")
    unattached = ("const it = document.createElement(\"input\"); it.type = \"file\"; it.onchange = () => say(it); "
                  "it.click()")
    for page, paths, got in (
        (asking("i.click()"), [one], "one.txt"),
        (asking("i.showPicker()"), [two], "two.txt"),
        (asking("i.click()", attributes="multiple"), [one, two], "one.txt,two.txt"),
        (asking(unattached), [one], "one.txt"),
    ):
        await agent.open(site.page(page))
        told = await agent.well("browser_click", ref="text=Attach")
        has(told, "changed (chooser)", "file-chooser", "browser_file_upload")
        lacks(told, "agbrowse upload")
        expect(told.facts["effect"] == "changed" and told.facts["changes"] == ["chooser"], "the facts say so", told)
        reply = await agent.well("browser_file_upload", paths=paths)
        has(reply, "1 file" if len(paths) == 1 else f"{len(paths)} files", got)


@shared
async def file_chooser_in_a_frame_of_another_site_is_answered(agent, site):
    [path] = some_files(agent, "one.txt")
    frame = site.page(asking("i.click()"), origin=site.abroad)
    await agent.open(site.page(f"<h1>Around</h1><iframe src='{frame}' width=500 height=300></iframe>"))
    shown = await agent.look()
    has(await agent.well("browser_click", ref=shown.ref("Attach")), "chooser")
    has(await agent.well("browser_file_upload", paths=[path]), "1 file", "one.txt")


@shared
async def file_chooser_can_be_canceled(agent, site):
    await agent.open(site.page(asking("i.click()")))
    for nothing in ({}, {"paths": []}):
        await agent.well("browser_click", ref="text=Attach")
        has(await agent.well("browser_file_upload", **nothing), "canceled")
        (await agent.look()).line("thought better of it")
    has(await agent.badly("browser_file_upload"), "no file chooser is open", "nothing was done")


@shared
async def file_chooser_goes_with_its_page(agent, site):
    [path] = some_files(agent, "one.txt")
    await agent.open(site.page(asking("i.click()")))
    await agent.well("browser_click", ref="text=Attach")
    await agent.open(site.page("<p>Elsewhere"))
    has(await agent.badly("browser_file_upload", paths=[path]), "page.no-dialog", "no file chooser is open")


@shared
async def file_chooser_without_a_gesture_is_none(agent, site):
    [path] = some_files(agent, "one.txt")
    page = site.live(asking("i.click()", script="setTimeout(() => i.click(), 1)"))
    await agent.open(page)
    await page.do("1")
    await agent.badly("browser_file_upload", paths=[path])


@shared
async def file_field_is_filled_and_emptied(agent, site):
    one, two = some_files(agent, "one.txt", "two.txt")
    await agent.open(site.page(
        "<label>Photo <input type=file></label><label for=s>Scan</label><input id=s type=file hidden>"))
    shown = await agent.look()
    field = shown.ref('button "Photo"')
    has(await agent.badly("browser_file_upload", ref=field, paths=[one, two]), "one file only", "nothing was done")
    has(await agent.well("browser_file_upload", ref=field, paths=[one]), "1 file", "one.txt")
    has(await agent.badly("browser_file_upload", ref=field), "`paths`")
    has(await agent.well("browser_file_upload", ref=field, paths=[]), "0 files")
    has(await agent.well("browser_file_upload", ref="label=photo", paths=[two]), "1 file", "two.txt")
    has(await agent.well("browser_file_upload", ref="label=scan", paths=[one]), "1 file")
    missing = str(agent.server.folder / "no-such-file")
    has(await agent.badly("browser_file_upload", ref=field, paths=[missing]), "file.read-failed")
    has(await agent.badly("browser_file_upload", ref=field, paths=["/etc/hostname"]), "access.denied", "--allow-files")
