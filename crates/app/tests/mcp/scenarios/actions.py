"""Actions: typing, clicking, waiting, dialogs, file uploads."""

import anyio

from scenario import expect, has, lacks, shared, timed

# ---------------------------------------------------------------------------------------------------------------
# Actions.


FORM = """<title>Form</title><form onsubmit="document.title = 'sent ' + q.value; return false">
    <label>Query <input id=q onkeydown="keys.push(event.key)"></label><label>Agree <input type=checkbox id=c></label>
    <label>Colour <select id=s><option value=r>Red<option value=g>Green<option value=b>Blue</select></label>
    <label>Two <select id=m multiple><option>A<option>B<option>C</select></label><button>Go</button></form>
    <script>keys = []</script>"""


@shared
async def type_replaces_field_value(agent, site):
    page = site.scripted(FORM)
    await agent.open(page)
    ref = (await agent.snapshot()).ref('textbox "Query"')
    await agent.call_ok("browser_type", ref=ref, text="first")
    has(await agent.call_ok("browser_type", ref=ref, text="schön 日本 👍"), "changed")
    expect(await page.run("q.value") == "schön 日本 👍", "the text is replaced")
    (await agent.snapshot()).line("schön 日本 👍")


@shared
async def type_slowly_appends_key_by_key(agent, site):
    page = site.scripted(FORM)
    await agent.open(page)
    ref = (await agent.snapshot()).ref('textbox "Query"')
    await agent.call_ok("browser_type", ref=ref, text="ab")
    await page.run("keys = []; 1")
    await agent.call_ok("browser_type", ref=ref, text="cd", slowly=True)
    expect(await page.run("q.value") == "abcd", "the text is appended")
    expect(await page.run("keys") == ["c", "d"], "each key was pressed")


@shared
async def type_with_submit_sends_the_form(agent, site):
    page = site.scripted(FORM)
    await agent.open(page)
    await agent.call_ok("browser_type", ref="label=Query", text="hello", submit=True)
    expect(await page.run("document.title") == "sent hello", "the form was sent")


@shared
async def fill_form_fills_each_kind_of_field(agent, site):
    page = site.scripted(FORM)
    await agent.open(page)
    snapshot = await agent.snapshot()
    fields = [
        {"name": "Query", "type": "textbox", "ref": snapshot.ref('textbox "Query"'), "value": "words"},
        {"name": "Agree", "type": "checkbox", "ref": snapshot.ref('checkbox "Agree"'), "value": "true"},
        {"name": "Colour", "type": "combobox", "ref": snapshot.ref('combobox "Colour"'), "value": "Green"},
    ]
    reply = await agent.call_ok("browser_fill_form", fields=fields)
    expect(await page.run("[q.value, c.checked, s.value]") == ["words", True, "g"], "all are filled in", reply)
    fields[1]["value"] = False
    await agent.call_ok("browser_fill_form", fields=fields)
    expect(await page.run("c.checked") is False, "the box is unchecked")


@shared
async def refs_in_replies_have_snapshot_format(agent, site):
    await agent.open(site.page(FORM))
    snapshot = await agent.snapshot()
    fields = [
        {"ref": snapshot.ref('textbox "Query"'), "value": "words"},
        {"ref": snapshot.ref('checkbox "Agree"'), "value": "true"},
    ]
    lacks(await agent.call_ok("browser_fill_form", fields=fields), "@e")


@shared
async def select_option_accepts_labels_and_values(agent, site):
    page = site.scripted(FORM)
    await agent.open(page)
    snapshot = await agent.snapshot()
    for value, chosen in (("Blue", "b"), ("g", "g")):
        await agent.call_ok("browser_select_option", ref=snapshot.ref('combobox "Colour"'), values=[value])
        expect(await page.run("s.value") == chosen, f"{value} is chosen")
    await agent.call_ok("browser_select_option", ref=snapshot.ref('listbox "Two"'), values=["A", "C"])
    expect(await page.run("[...m.selectedOptions].map(it => it.text)") == ["A", "C"], "both are chosen")
    reply = await agent.call_error("browser_select_option", ref=snapshot.ref('combobox "Colour"'), values=["Mauve"])
    has(reply, "Mauve", "Red", "Green", "Blue")


@shared
async def press_key_goes_to_focused_element(agent, site):
    page = site.scripted(FORM)
    await agent.open(page)
    await agent.call_ok("browser_type", ref="label=Query", text="abc")
    await agent.call_ok("browser_press_key", key="Control+a")
    await agent.call_ok("browser_press_key", key="Delete")
    expect(await page.run("q.value") == "", "all was deleted")
    await agent.call_ok("browser_press_key", key="x")
    await agent.call_ok("browser_press_key", key="Enter")
    expect(await page.run("document.title") == "sent x", "the form was sent")
    has(await agent.call_error("browser_press_key", key="NoSuchKey"), "NoSuchKey")


@shared
async def hover_moves_the_mouse(agent, site):
    await agent.open(site.page(
        "<button onmouseenter=\"p.textContent = 'Menu is open'\">Menu</button><p id=p>closed</p>"))
    await agent.call_ok("browser_hover", ref=(await agent.snapshot()).ref('"Menu"'))
    (await agent.snapshot()).line("Menu is open")


@shared
async def click_accepts_button_and_double_click(agent, site):
    page = site.scripted(
        "<script>events = []</script><button oncontextmenu='events.push(`right`); return false' "
        "ondblclick='events.push(`double`)'>Target</button>")
    await agent.open(page)
    ref = (await agent.snapshot()).ref("Target")
    await agent.call_ok("browser_click", ref=ref, button="right")
    await agent.call_ok("browser_click", ref=ref, doubleClick=True)
    expect(await page.run("events") == ["right", "double"], "each event arrived")
    has(await agent.call_error("browser_click", ref=ref, button="upper"), "button", "middle")


@shared
async def click_accepts_modifiers(agent, site):
    page = site.scripted(
        "<script>events = []</script><button onclick='events.push([event.altKey, event.shiftKey])'>Target</button>")
    await agent.open(page)
    ref = (await agent.snapshot()).ref("Target")
    for alt, shift in (("alt", "shift"), ("Alt", "Shift")):
        await agent.call_ok("browser_click", ref=ref, modifiers=[alt])
        await agent.call_ok("browser_click", ref=ref, modifiers=[alt, shift])
    expect(await page.run("events") == [[True, False], [True, True]] * 2, "each event arrived")


@shared
async def click_reply_reports_effects(agent, site):
    await agent.open(site.page(
        "<button onclick=\"p.textContent = 'New words'\">Works</button><button>Idle</button>"
        "<a href='?there'>Away</a><p id=p>.</p>"))
    snapshot = await agent.snapshot()
    has(await agent.call_ok("browser_click", ref=snapshot.ref("Works")), "changed", "New words")
    has(await agent.call_ok("browser_click", ref=snapshot.ref("Idle")), "no effect")
    await agent.call_error("browser_click", ref=snapshot.ref("Idle"), expect="changed")
    has(await agent.call_ok("browser_click", ref=snapshot.ref("Away")), "navigated")


@shared
async def covered_and_disabled_elements_are_not_clicked(agent, site):
    page = site.scripted(
        "<title>.</title><button onclick='document.title = 1'>Under</button><button disabled>Off</button>"
        "<div style='position:fixed;inset:0;background:#fff'>Curtain</div>")
    await agent.open(page)
    snapshot = await agent.snapshot()
    has(await agent.call_error("browser_click", ref=snapshot.ref("Under")), "covered", "Curtain")
    has(await agent.call_error("browser_click", ref=snapshot.ref("Off")), "disabled")
    expect(await page.run("document.title") == ".", "nothing was clicked")


@shared
async def can_checks_actionability_without_acting(agent, site):
    page = site.scripted(
        "<title>.</title><button onclick='document.title = 1'>Free</button><button disabled>Off</button>"
        "<input aria-label=Field onfocus='document.title = 2'>")
    await agent.open(page)
    snapshot = await agent.snapshot()
    for action, words in (("click", "Free"), ("hover", "Free"), ("fill", "Field")):
        reply = await agent.call_ok("browser_can", action=action, ref=snapshot.ref(words))
        expect(reply.structured["state"] == "ok", f"{action} would work", reply)
    for action, words in (("click", "Off"), ("fill", "Free")):
        reply = await agent.call_ok("browser_can", action=action, ref=snapshot.ref(words))
        expect(reply.structured["state"] == "fail", f"{action} would not work", reply)
        expect(len(reply.page_text) > 10, "the reason is given", reply)
    reply = await agent.call_ok("browser_can", action="click", ref="e999999")
    expect(reply.structured["state"] == "fail", "there is no such ref", reply)
    expect(await page.run("document.title") == ".", "nothing was done")


@shared
async def wait_for_ends_when_text_appears_or_disappears(agent, site):
    for then, arguments in (
        ("p.textContent = 'Ready now'", {"text": "Ready now"}),
        ("p.remove()", {"textGone": "Loading"}),
    ):
        page = site.scripted("<p id=p>Loading</p>")
        await agent.open(page)
        await page.run(f"setTimeout(() => {{ {then} }}, 700); 1")
        took, _ = await timed(agent.call_ok("browser_wait_for", **arguments))
        expect(took < 5000, f"it took {took:.0f} ms")


@shared
async def wait_for_time_lasts_as_requested(agent, site):
    took, _ = await timed(agent.call_ok("browser_wait_for", time=0.5))
    expect(450 <= took < 5000, f"it took {took:.0f} ms")


@shared
async def wait_for_requires_exactly_one_condition(agent, site):
    for arguments in ({}, {"text": "a", "time": 1}, {"text": "a", "textGone": "b"}):
        has(await agent.call_error("browser_wait_for", **arguments), "text", "textGone", "time")
    has(await agent.call_error("browser_wait_for", time=61), "60")


@shared
async def other_pages_respond_during_wait_for(agent, site):
    page = site.scripted("<p id=p>Wait</p>")
    first = (await agent.open(page)).page
    second = (await agent.call_ok("browser_tabs", action="new")).page
    replies = []
    async with anyio.create_task_group() as tasks:
        async def wait():
            replies.append(await agent.call("browser_wait_for", text="Ready now", page=first))
        tasks.start_soon(wait)
        await agent.open(site.page("<button>Other</button>"))
        await agent.call_ok("browser_click", ref=(await agent.snapshot()).ref("Other"))
        expect(not replies, "it waits", replies)
        await page.run("p.textContent = 'Ready now'; 1")
    expect(not replies[0].is_error, "both calls succeeded", replies[0])
    await agent.call_ok("browser_tabs", action="close", page=second)


@shared
async def dialog_is_reported_and_answered(agent, site):
    page = site.scripted(
        "<button onclick=\"document.title = confirm('Really sure?')\">Confirm</button>"
        "<button onclick=\"document.title = prompt('Your name?', 'x')\">Prompt</button>"
        "<button onclick=\"alert('Hear this'); document.title = 'heard'\">Alert</button>")
    await agent.open(page)
    snapshot = await agent.snapshot()
    for button, question, answer, title in (
        ("Confirm", "Really sure?", {"accept": True}, "true"),
        ("Confirm", "Really sure?", {"accept": False}, "false"),
        ("Prompt", "Your name?", {"accept": True, "promptText": "Ann"}, "Ann"),
        ("Prompt", "Your name?", {"accept": True}, "x"),
        ("Prompt", "Your name?", {"accept": False}, "null"),
        ("Alert", "Hear this", {"accept": True}, "heard"),
    ):
        reply = await agent.call_ok("browser_click", ref=snapshot.ref(f'"{button}"'))
        has(reply, "dialog", question, "browser_handle_dialog")
        has(await agent.call_error("browser_snapshot"), "browser_handle_dialog")
        await agent.call_ok("browser_handle_dialog", **answer)
        expect(await page.run("document.title") == title, f"the {button} got its answer", reply)
    await agent.call_error("browser_handle_dialog", accept=True)


@shared
async def replies_name_mcp_tools_not_cli_commands(agent, site):
    await agent.open(site.page("<button disabled>Off</button><button onclick=\"alert('Hear this')\">Alert</button>"))
    error = await agent.call_error("browser_click", ref="text=Off")
    dialog = await agent.call_ok("browser_click", ref="text=Alert")
    await agent.call_ok("browser_handle_dialog", accept=True)
    for reply in (error, dialog):
        lacks(reply, "--timeout", "agbrowse dialog")


@shared
async def dialog_during_page_load_is_reported(agent, site):
    reply = await agent.call("browser_navigate", url=site.page("<script>alert('At once')</script><p>After</p>"))
    has(reply, "dialog")
    await agent.call_ok("browser_handle_dialog", accept=True)
    (await agent.snapshot()).line("After")


# ---------------------------------------------------------------------------------------------------------------
# Files.


def create_files(agent, *names):
    """Creates files with these names and returns their paths."""
    paths = [agent.server.folder / name for name in names]
    for path in paths:
        path.write_text("words")
    return [str(path) for path in paths]


def chooser_page(opener, script="", attributes=""):
    """A page with a hidden file input, whose files are shown as text, and a button that opens the chooser."""
    return (f"<input type=file id=i hidden {attributes}><button onclick='{opener}'>Attach</button><p id=o>No files</p>"
            f"<script>const show = (it) => o.textContent = [...it.files].map(({{ name }}) => name).join() || 'emptied';"
            f"i.onchange = () => show(i); i.oncancel = () => o.textContent = 'picker dismissed';{script}</script>")


@shared
async def file_chooser_is_reported_and_filled(agent, site):
    one, two = create_files(agent, "one.txt", "two.txt")
    unattached = ("const it = document.createElement(\"input\"); it.type = \"file\"; it.onchange = () => show(it); "
                  "it.click()")
    for page, paths, got in (
        (chooser_page("i.click()"), [one], "one.txt"),
        (chooser_page("i.showPicker()"), [two], "two.txt"),
        (chooser_page("i.click()", attributes="multiple"), [one, two], "one.txt,two.txt"),
        (chooser_page(unattached), [one], "one.txt"),
    ):
        await agent.open(site.page(page))
        clicked = await agent.call_ok("browser_click", ref="text=Attach")
        has(clicked, "changed (chooser)", "file-chooser", "browser_file_upload")
        lacks(clicked, "agbrowse upload")
        effect = [clicked.structured[key] for key in ("effect", "changes")]
        expect(effect == ["changed", ["chooser"]], "the structured reply has the change", clicked)
        reply = await agent.call_ok("browser_file_upload", paths=paths)
        has(reply, "1 file" if len(paths) == 1 else f"{len(paths)} files", got)


@shared
async def file_chooser_in_cross_site_frame_is_filled(agent, site):
    [path] = create_files(agent, "one.txt")
    frame = site.page(chooser_page("i.click()"), origin=site.cross_site)
    await agent.open(site.page(f"<h1>Around</h1><iframe src='{frame}' width=500 height=300></iframe>"))
    snapshot = await agent.snapshot()
    has(await agent.call_ok("browser_click", ref=snapshot.ref("Attach")), "chooser")
    has(await agent.call_ok("browser_file_upload", paths=[path]), "1 file", "one.txt")


@shared
async def file_chooser_can_be_canceled(agent, site):
    await agent.open(site.page(chooser_page("i.click()")))
    for nothing in ({}, {"paths": []}):
        await agent.call_ok("browser_click", ref="text=Attach")
        has(await agent.call_ok("browser_file_upload", **nothing), "canceled")
        (await agent.snapshot()).line("picker dismissed")
    has(await agent.call_error("browser_file_upload"), "no file chooser is open", "nothing was done")


@shared
async def file_chooser_is_closed_by_navigation(agent, site):
    [path] = create_files(agent, "one.txt")
    await agent.open(site.page(chooser_page("i.click()")))
    await agent.call_ok("browser_click", ref="text=Attach")
    await agent.open(site.page("<p>Elsewhere"))
    has(await agent.call_error("browser_file_upload", paths=[path]), "page.no-dialog", "no file chooser is open")


@shared
async def file_chooser_without_user_gesture_does_not_open(agent, site):
    [path] = create_files(agent, "one.txt")
    page = site.scripted(chooser_page("i.click()", script="setTimeout(() => i.click(), 1)"))
    await agent.open(page)
    await page.run("1")
    await agent.call_error("browser_file_upload", paths=[path])


@shared
async def file_input_is_filled_and_cleared(agent, site):
    one, two = create_files(agent, "one.txt", "two.txt")
    await agent.open(site.page(
        "<label>Photo <input type=file></label><label for=s>Scan</label><input id=s type=file hidden>"))
    snapshot = await agent.snapshot()
    field = snapshot.ref('button "Photo"')
    has(await agent.call_error("browser_file_upload", ref=field, paths=[one, two]), "one file only", "nothing was done")
    has(await agent.call_ok("browser_file_upload", ref=field, paths=[one]), "1 file", "one.txt")
    has(await agent.call_error("browser_file_upload", ref=field), "`paths`")
    has(await agent.call_ok("browser_file_upload", ref=field, paths=[]), "0 files")
    has(await agent.call_ok("browser_file_upload", ref="label=photo", paths=[two]), "1 file", "two.txt")
    has(await agent.call_ok("browser_file_upload", ref="label=scan", paths=[one]), "1 file")
    missing = str(agent.server.folder / "no-such-file")
    has(await agent.call_error("browser_file_upload", ref=field, paths=[missing]), "file.read-failed")
    denied = await agent.call_error("browser_file_upload", ref=field, paths=["/etc/hostname"])
    has(denied, "access.denied", "--allow-files")
