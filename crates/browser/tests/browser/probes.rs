//! Probes of actions: named behaviours, each with its own page, the steps on it, and the expected
//! outcome. The table in `docs/benchmarks.md` is written from here.

use crate::harness::{Route, TestContext, browser_test};
use crate::snapshot::ref_of;
use agbrowse_browser::command::{Receipt, Snapshot, SnapshotReply};
use agbrowse_browser::{Code, Command, Error, Outcome, Reply, Request};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A behaviour.
struct Probe {
    name: &'static str,
    /// The body of the page.
    page: &'static str,
    /// Steps after a snapshot: commands as JSON, in which `{Words}` is the ref of the line with these words.
    /// A step that begins with `js ` is a script of the page.
    steps: &'static [&'static str],
    /// Outcome of the last step: an effect and its details (`+content`, `!new-tab`, `note:formatted`), or
    /// an error code with words of its message.
    expected: &'static str,
    /// A script that must return true afterwards.
    then: &'static str,
}

const fn probe(
    name: &'static str,
    page: &'static str,
    steps: &'static [&'static str],
    expected: &'static str,
    then: &'static str,
) -> Probe {
    Probe { name, page, steps, expected, then }
}

/// A button that counts its clicks.
const COUNTER: &str =
    "<h1 id=n>0</h1><button onclick='n.textContent = +n.textContent + 1'>Count</button>";

#[rustfmt::skip]
const PROBES: &[Probe] = &[
    // Targets.
    probe("a click by ref happens once", COUNTER,
        &[r#"{"verb":"click","target":"{Count}"}"#], "changed +content", "n.textContent === '1'"),
    probe("a click by CSS selector", COUNTER,
        &[r#"{"verb":"click","target":"css=button"}"#], "changed +content", "n.textContent === '1'"),
    probe("a click by role and name", COUNTER,
        &[r#"{"verb":"click","target":"role=button[name=\"count\"]"}"#], "changed +content", "n.textContent === '1'"),
    probe("a click by text, case-insensitive", COUNTER,
        &[r#"{"verb":"click","target":"text=COUNT"}"#], "changed +content", "n.textContent === '1'"),
    probe("a click by test id", "<h1 id=n>0</h1><button data-testid=go onclick='n.textContent = 1'>Go</button>",
        &[r#"{"verb":"click","target":"testid=go"}"#], "changed +content", "n.textContent === '1'"),
    probe("a click by coordinates", "<h1 id=n>0</h1><button style='position:fixed;left:100px;top:100px;width:80px;height:40px' onclick='n.textContent = 1'>Go</button>",
        &[r#"{"verb":"click","target":"xy=140,120"}"#], "changed +content", "n.textContent === '1'"),
    probe("a screenshot coordinate resolves to its element", "<style>button { position:fixed; left:100px; top:100px; width:80px; height:40px }</style><h1 id=n>0</h1><button onclick='n.textContent = 1'>Go</button>",
        &[r#"{"verb":"screenshot"}"#, r#"{"verb":"click","target":"xy=140,120"}"#], "changed +content", "n.textContent === '1'"),
    probe("a screenshot coordinate of a replaced element is refused", "<style>button { position:fixed; left:100px; top:100px; width:80px; height:40px }</style><h1 id=n>0</h1><button id=b onclick='n.textContent = 1'>Keep</button>",
        &[r#"{"verb":"screenshot"}"#, "js b.outerHTML = '<button onclick=\"n.textContent = 2\">Delete</button>'; 1", r#"{"verb":"click","target":"xy=140,120"}"#], "snapshot.ref-stale Keep", "n.textContent === '0'"),
    probe("a screenshot coordinate of a new element is refused", "<h1 id=n>0</h1><div id=d style='position:fixed;left:100px;top:100px;width:80px;height:40px'></div>",
        &[r#"{"verb":"screenshot"}"#, "js d.innerHTML = '<button onclick=\"n.textContent = 2\">Pay</button>'; 1", r#"{"verb":"click","target":"xy=110,110"}"#], "snapshot.ref-stale nothing to act on", "n.textContent === '0'"),
    probe("a field by its label", "<label>E-mail <input id=i></label>",
        &[r#"{"verb":"fill","target":"label=e-mail","value":"a@b.c"}"#], "changed +value", "i.value === 'a@b.c'"),
    probe("a field by its placeholder", "<input id=i placeholder='Search here'>",
        &[r#"{"verb":"fill","target":"placeholder=search","value":"x"}"#], "changed +value", "i.value === 'x'"),
    probe("several matches are an error that lists them", "<p>Row one <button>Edit</button><p>Row two <button>Edit</button>",
        &[r#"{"verb":"click","target":"text=Edit"}"#], "target.ambiguous 2 elements", "true"),
    probe("one of several matches is selected by number", "<h1 id=n>0</h1><button onclick='n.textContent=1'>Edit</button><button onclick='n.textContent=2'>Edit</button>",
        &[r#"{"verb":"click","target":"text=Edit","nth":1}"#], "changed", "n.textContent === '2'"),
    probe("fallback targets are tried in order", COUNTER,
        &[r#"{"verb":"click","target":"css=#gone","or":["role=link[name=\"no\"]","text=Count"],"noWait":true}"#], "changed +content", "n.textContent === '1'"),
    probe("a missing element is waited for", "<h1 id=n>0</h1><script>setTimeout(() => { const b = document.createElement('button'); b.textContent = 'Late'; b.onclick = () => n.textContent = 1; document.body.append(b); }, 200)</script>",
        &[r#"{"verb":"click","target":"text=Late"}"#], "changed +content", "n.textContent === '1'"),
    probe("an exact text match is preferred to a partial one", "<h1 id=n>0</h1><div onclick='n.textContent=1'><a tabindex=0><div>9a</div><div>Standup</div></a></div><p>event Standup</p>",
        &[r#"{"verb":"click","target":"text=Standup"}"#], "changed +content", "n.textContent === '1'"),
    // Ref binding.
    probe("a ref of a button with a changed name is refused", COUNTER,
        &["js document.querySelector('button').textContent = 'Delete account'", r#"{"verb":"click","target":"{Count}"}"#], "snapshot.ref-stale", "n.textContent === '0'"),
    probe("a ref in a recycled row is refused", "<h1 id=n>0</h1><table><tr><td id=who>Ann<td><button onclick='n.textContent=1'>Delete</button><tr><td>Cid<td><button onclick='n.textContent=2'>Delete</button></table>",
        &["js who.textContent = 'Bob'", r#"{"verb":"click","target":"{Delete}"}"#], "snapshot.ref-stale", "n.textContent === '0'"),
    probe("a replaced element is used, with a note", COUNTER,
        &["js document.querySelector('button').replaceWith(document.querySelector('button').cloneNode(true))", r#"{"verb":"click","target":"{Count}"}"#], "changed note:element-replaced", "n.textContent === '1'"),
    probe("an ambiguous replacement is refused", COUNTER,
        &["js document.querySelector('button').replaceWith(...[1, 2].map(() => document.querySelector('button').cloneNode(true)))", r#"{"verb":"click","target":"{Count}"}"#], "snapshot.ref-stale", "n.textContent === '0'"),
    probe("a ref of the previous page is refused", COUNTER,
        &[r#"{"verb":"reload"}"#, r#"{"verb":"click","target":"{Count}"}"#], "snapshot.ref-stale", "n.textContent === '0'"),
    probe("a changed counter in the name is accepted", "<h1 id=n>0</h1><button id=b onclick='n.textContent=1'>Inbox (3)</button>",
        &["js b.textContent = 'Inbox (4)'", r#"{"verb":"click","target":"{Inbox}"}"#], "changed note:element-changed", "n.textContent === '1'"),
    probe("reordered rows are distinguished", "<h1 id=n></h1><ul id=l><li>Ann <button onclick='n.textContent=\"Ann\"'>Delete</button><li>Bob <button onclick='n.textContent=\"Bob\"'>Delete</button></ul>",
        &["js l.prepend(l.lastElementChild)", r#"{"verb":"click","target":"{Delete}"}"#], "changed", "n.textContent === 'Ann'"),
    // Changes right before the action.
    probe("an overlay that appears on mouse move gets no click", "<h1 id=n>0</h1><button id=b style='width:200px;height:60px' onclick='n.textContent=\"clicked\"'>Buy</button><script>b.addEventListener('mousemove', () => { const d = document.createElement('div'); d.id = 'veil'; d.style = 'position:fixed;inset:0'; d.onclick = d.onmousedown = () => n.textContent = 'hit the cover'; document.body.append(d); })</script>",
        &[r#"{"verb":"click","target":"{Buy}","noWait":true}"#], "act.covered veil", "n.textContent === '0'"),
    probe("a button renamed on mouse move gets no click", "<h1 id=n>0</h1><button id=b onclick='n.textContent=\"clicked\"' onmousemove='this.textContent=\"Delete account\"'>Open</button>",
        &[r#"{"verb":"click","target":"{Open}","noWait":true}"#], "snapshot.ref-stale", "n.textContent === '0'"),
    probe("a list that shifts on mouse move gets no wrong click", "<h1 id=n>0</h1><div id=l><button style='display:block;height:40px;width:200px' onclick='n.textContent=\"Ann\"'>Delete Ann</button><button style='display:block;height:40px;width:200px' onclick='n.textContent=\"Bob\"'>Delete Bob</button></div><script>let once = true; l.addEventListener('mousemove', () => { if (once) { once = false; l.prepend(l.lastElementChild); } })</script>",
        &[r#"{"verb":"click","target":"{Delete Ann}"}"#], "changed", "n.textContent === 'Ann'"),
    // Actionability failures.
    probe("a click without effect reports it", "<button>Nothing</button>",
        &[r#"{"verb":"click","target":"{Nothing}"}"#], "none", "true"),
    probe("a click without the expected effect fails", "<button>Nothing</button>",
        &[r#"{"verb":"click","target":"{Nothing}","expect":"changed"}"#], "act.no-effect changed", "true"),
    probe("an expected text is waited for", "<p id=o></p><button onclick='setTimeout(() => o.textContent = \"Saved\", 400)'>Save</button>",
        &[r#"{"verb":"click","target":"{button \"Save\"}","expect":"Saved"}"#], "changed|none", "o.textContent === 'Saved'"),
    probe("a disabled button is refused", "<h1 id=n>0</h1><button disabled onclick='n.textContent=1'>Pay</button>",
        &[r#"{"verb":"click","target":"{Pay}","noWait":true}"#], "act.disabled", "n.textContent === '0'"),
    probe("a button in a disabled group is refused", "<h1 id=n>0</h1><fieldset disabled><button onclick='n.textContent=1'>Pay</button></fieldset>",
        &[r#"{"verb":"click","target":"{Pay}","noWait":true}"#], "act.disabled", "n.textContent === '0'"),
    probe("aria-disabled is respected", "<h1 id=n>0</h1><button aria-disabled=true onclick='n.textContent=1'>Pay</button>",
        &[r#"{"verb":"click","target":"{Pay}","noWait":true}"#], "act.disabled aria-disabled", "n.textContent === '0'"),
    probe("a button is waited for until it is enabled", "<h1 id=n>0</h1><button id=b disabled onclick='n.textContent=1'>Pay</button><script>setTimeout(() => b.disabled = false, 300)</script>",
        &[r#"{"verb":"click","target":"{Pay}"}"#], "changed", "n.textContent === '1'"),
    probe("an inert element is refused", "<h1 id=n>0</h1><div id=d><button onclick='n.textContent=1'>Pay</button></div>",
        &["js d.inert = true", r#"{"verb":"click","target":"css=button","noWait":true}"#], "act.inert|target.not-found", "n.textContent === '0'"),
    probe("an element behind a modal dialog is refused", "<h1 id=n>0</h1><button onclick='n.textContent=1'>Pay</button><dialog id=d>Sure?</dialog>",
        &["js d.showModal()", r#"{"verb":"click","target":"{Pay}","noWait":true}"#], "act.inert|snapshot.ref-stale", "n.textContent === '0'"),
    probe("a text target behind a modal dialog is refused, naming the dialog", "<h1 id=n>0</h1><button onclick='n.textContent=1'>Pay</button><dialog id=d>Sure?</dialog>",
        &["js d.showModal()", r#"{"verb":"click","target":"text=Pay","noWait":true}"#], "act.inert dialog#d", "n.textContent === '0'"),
    probe("a missing target with a modal dialog open is not found", "<button>Pay</button><dialog id=d>Sure?</dialog>",
        &["js d.showModal()", r#"{"verb":"click","target":"text=Elsewhere","noWait":true}"#], "target.not-found", "true"),
    probe("a covered button is refused, naming the covering element", "<h1 id=n>0</h1><button onclick='n.textContent=1'>Pay</button><div id=veil style='position:fixed;inset:0'></div>",
        &[r#"{"verb":"click","target":"{Pay}","noWait":true}"#], "act.covered veil", "n.textContent === '0'"),
    probe("an overlay is waited for until it disappears", "<h1 id=n>0</h1><button onclick='n.textContent=1'>Pay</button><div id=veil style='position:fixed;inset:0'></div><script>setTimeout(() => veil.remove(), 300)</script>",
        &[r#"{"verb":"click","target":"{Pay}"}"#], "changed", "n.textContent === '1'"),
    probe("a half covered button is clicked on its free part", "<h1 id=n>0</h1><button style='position:absolute;left:50px;top:100px;width:200px;height:60px' onclick='n.textContent=1'>Pay</button><div style='position:absolute;left:100px;top:90px;width:100px;height:80px;background:red'></div>",
        &[r#"{"verb":"click","target":"{Pay}"}"#], "changed", "n.textContent === '1'"),
    probe("a button with `pointer-events: none` is refused", "<h1 id=n>0</h1><div onclick='n.textContent=1'><button style='pointer-events:none'>Pay</button></div>",
        &[r#"{"verb":"click","target":"css=button","noWait":true}"#], "act.covered pointer-events", "n.textContent === '0'"),
    probe("a hidden element is refused", "<button id=b>Pay</button>",
        &["js b.style.visibility = 'hidden'", r#"{"verb":"click","target":"{Pay}","noWait":true}"#], "act.hidden|snapshot.ref-stale", "true"),
    probe("an element that never stops moving is refused", "<button style='animation: go .4s linear infinite alternate'>Run</button><style>@keyframes go { from { transform: none } to { transform: translateX(300px) } }</style>",
        &[r#"{"verb":"click","target":"{Run}","noWait":true}"#], "act.moving", "true"),
    probe("a moving element is waited for until it is stable", "<h1 id=n>0</h1><button style='transition: transform .4s' onclick='n.textContent=1'>Run</button>",
        &["js document.querySelector('button').style.transform = 'translateX(200px)'", r#"{"verb":"click","target":"{Run}"}"#], "changed", "n.textContent === '1'"),
    // Positions, frames and shadow trees.
    probe("an element below the viewport is scrolled into view", "<div style='height:4000px'></div><h1 id=n>0</h1><button onclick='n.textContent=1'>Deep</button>",
        &[r#"{"verb":"click","target":"{Deep}"}"#], "changed +content", "n.textContent === '1'"),
    probe("an element under a sticky header is scrolled out from under it", "<div style='position:sticky;top:0;height:300px;background:#ccc'>Header</div><h1 id=n>0</h1><div style='height:900px'></div><button onclick='n.textContent=1'>Deep</button><div style='height:2000px'></div>",
        &["js scrollTo(0, document.querySelector('button').offsetTop - 100)", r#"{"verb":"click","target":"{Deep}"}"#], "changed +content", "n.textContent === '1'"),
    probe("an element in nested scroll containers is scrolled into view", "<h1 id=n>0</h1><div style='height:200px;overflow:auto'><div style='height:900px'></div><div style='height:200px;overflow:auto'><div style='height:900px'></div><button onclick='n.textContent=1'>Deep</button></div></div>",
        &[r#"{"verb":"click","target":"{Deep}"}"#], "changed +content", "n.textContent === '1'"),
    probe("a link over two lines is clicked on its text", "<h1 id=n>0</h1><p style='width:220px'>Some words before it <a href='#' onclick='n.textContent=1; return false'>and a link that runs over two lines</a> and after.</p>",
        &[r#"{"verb":"click","target":"{link}"}"#], "changed +content", "n.textContent === '1'"),
    probe("an image map area", "<h1 id=n>0</h1><img usemap='#m' width=100 height=100 src='data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA='><map name=m><area shape=rect coords='0,0,40,40' href='#' alt=Corner onclick='n.textContent=1; return false'></map>",
        &[r#"{"verb":"click","target":"{Corner}"}"#], "changed +content", "n.textContent === '1'"),
    probe("inside an open shadow tree", "<h1 id=n>0</h1><div id=h></div><script>h.attachShadow({ mode: 'open' }).innerHTML = '<button onclick=\"n.textContent=1\">Inside</button>'</script>",
        &[r#"{"verb":"click","target":"{Inside}"}"#], "changed +content", "n.textContent === '1'"),
    probe("inside a closed shadow tree", "<h1 id=n>0</h1><div id=h></div><script>h.attachShadow({ mode: 'closed' }).innerHTML = '<button onclick=\"n.textContent=1\">Inside</button><button>Other</button>'</script>",
        &[r#"{"verb":"click","target":"{Inside}"}"#], "changed +content", "n.textContent === '1'"),
    probe("a closed shadow tree attached by the click is the only effect", "<div id=h></div><h1 id=n>0</h1><button onclick='later()'>Go</button><script>function later() { h.attachShadow({ mode: \"closed\" }).innerHTML = \"<button style='position:fixed;top:200px' onclick='n.textContent=1'>Later</button>\" }</script>",
        &[r#"{"verb":"click","target":"{Go}"}"#, r#"{"verb":"click","target":"text=Later"}"#], "changed +content", "n.textContent === '1'"),
    probe("an open shadow tree attached by the click is the only effect", "<div id=h></div><button onclick='later()'>Go</button><script>function later() { h.attachShadow({ mode: \"open\" }).innerHTML = \"<button>Later</button>\" }</script>",
        &[r#"{"verb":"click","target":"{Go}"}"#], "changed +content", "h.shadowRoot.textContent === 'Later'"),
    probe("a closed shadow tree attached by the click in a frame", "<button onclick='later()'>Go</button><iframe id=f srcdoc='<p>Frame</p><div id=h></div>'></iframe><script>function later() { f.contentWindow.h.attachShadow({ mode: \"closed\" }).innerHTML = \"<button onclick='document.title=1'>Later</button>\" }</script>",
        &[r#"{"verb":"click","target":"{Go}"}"#, r#"{"verb":"click","target":"text=Later"}"#], "changed|none", "f.contentDocument.title === '1'"),
    probe("inside a nested frame", "<h1 id=n>0</h1><iframe srcdoc=\"<p>Outer</p><iframe srcdoc='<button onclick=&quot;top.n.textContent=1&quot;>Inner</button>'></iframe>\" style='margin:30px'></iframe>",
        &[r#"{"verb":"click","target":"{Inner}"}"#], "changed +content", "n.textContent === '1'"),
    probe("inside a cross-site frame", "<iframe src='OTHER/framed' style='margin:40px;border:9px solid'></iframe>",
        &[r#"{"verb":"click","target":"{Framed}"}"#], "changed +content", "true"),
    probe("inside a frame scaled to half size", "<h1 id=n>0</h1><iframe style='transform:scale(.5);transform-origin:0 0;width:600px;height:400px;border:10px solid;padding:20px' srcdoc=\"<div style='height:200px'></div><button style='margin-left:300px' onclick='top.n.textContent=1'>Small</button>\"></iframe>",
        &[r#"{"verb":"click","target":"{Small}"}"#], "changed +content", "n.textContent === '1'"),
    probe("inside a frame scrolled out of view", "<h1 id=n>0</h1><div style='height:3000px'></div><iframe srcdoc=\"<div style='height:900px'></div><button onclick='top.n.textContent=1'>Far</button>\"></iframe>",
        &[r#"{"verb":"click","target":"{Far}"}"#], "changed +content", "n.textContent === '1'"),
    // Effects.
    probe("a change by a timer after the click is reported", "<h1 id=n>0</h1><button onclick='setTimeout(() => n.textContent = 1, 40)'>Later</button>",
        &[r#"{"verb":"click","target":"{Later}"}"#], "changed +content", "n.textContent === '1'"),
    probe("a server response is waited for", "<h1 id=n>0</h1><button onclick=\"fetch('slow').then((r) => r.text()).then((t) => n.textContent = t.length)\">Ask</button>",
        &[r#"{"verb":"click","target":"{Ask}"}"#], "changed +content +requests", "n.textContent !== '0'"),
    probe("a ticking clock is not an effect", "<p id=c>0</p><button>Nothing</button><script>setInterval(() => c.textContent = +c.textContent + 1, 20)</script>",
        &["js new Promise((go) => setTimeout(go, 150))", r#"{"verb":"click","target":"{Nothing}"}"#], "none", "true"),
    probe("content built in steps is reported when settled", "<h1 id=n>0</h1><button onclick='n.textContent = \"done\"'>Go</button><script>let steps = 0, last = Infinity; const build = setInterval(() => { n.textContent = steps; if (++steps === 6) { clearInterval(build); last = performance.now(); } }, 15)</script>",
        &["js new Promise((go) => setInterval(() => performance.now() > last + 300 && go(), 5))", r#"{"verb":"click","target":"{Go}"}"#], "changed +content", "n.textContent === 'done'"),
    probe("a page that never settles does not delay the reply", "<h1 id=n>0</h1><p id=c>0</p><button onclick='n.textContent=1'>Go</button><script>setInterval(() => c.textContent = +c.textContent + 1, 1)</script>",
        &[r#"{"verb":"click","target":"{Go}"}"#], "changed +content", "n.textContent === '1'"),
    probe("a dialog is reported and does not block", "<button onclick='alert(\"Hello\")'>Ask</button>",
        &[r#"{"verb":"click","target":"{Ask}"}"#], "dialog !dialog Hello", ""),
    probe("an answered dialog lets the page continue", "<h1 id=n>0</h1><button onclick='n.textContent = confirm(\"Sure?\") ? \"yes\" : \"no\"'>Ask</button>",
        &[r#"{"verb":"click","target":"{Ask}"}"#, r#"{"verb":"dialog","answer":"accept"}"#, r#"{"verb":"wait","text":"yes"}"#], "reply", "n.textContent === 'yes'"),
    probe("a navigation is reported", "<a href='next'>Next</a>",
        &[r#"{"verb":"click","target":"{Next}"}"#], "navigated +address", "document.title === 'Next page'"),
    probe("a form submission", "<form action=next><input name=q value=1><button>Send</button></form>",
        &[r#"{"verb":"click","target":"{Send}"}"#], "navigated +address", "location.search === '?q=1'"),
    probe("a URL change by script", "<button onclick='history.pushState(0, \"\", \"?page=2\")'>Two</button>",
        &[r#"{"verb":"click","target":"{Two}"}"#], "navigated +address", "location.search === '?page=2'"),
    probe("a new tab is reported", "<a href=next target=_blank>New</a>",
        &[r#"{"verb":"click","target":"{New}"}"#], "changed +tab !new-tab", "true"),
    probe("a tab opened by the middle button is reported", "<a href=next>New</a>",
        &[r#"{"verb":"click","target":"{New}","button":"middle"}"#], "changed +tab !new-tab", "location.pathname !== '/next'"),
    probe("a tab opened with a modifier key is reported", "<a href=next>New</a>",
        &[r#"{"verb":"click","target":"{New}","modifiers":["control"]}"#], "changed +tab !new-tab", "location.pathname !== '/next'"),
    probe("a pending navigation is not reported as arrived", "<a href=never>Slow</a>",
        &[r#"{"verb":"click","target":"{Slow}","settleMs":300}"#], "navigated ~/never", ""),
    probe("a download is reported", "<a href=file download>File</a>",
        &[r#"{"verb":"click","target":"{File}"}"#], "download", "true"),
    probe("a download is waited for and named", "<a href=file download>File</a>",
        &[r#"{"verb":"download","target":"{File}"}"#], "download =.csv", "true"),
    probe("a console error is in the reply", "<button onclick='console.error(\"oh dear\")'>Err</button>",
        &[r#"{"verb":"click","target":"{Err}"}"#], "none !console-error oh dear", "true"),
    probe("an uncaught exception is in the reply", "<button onclick='nothing.such()'>Err</button>",
        &[r#"{"verb":"click","target":"{Err}"}"#], "none !page-error nothing is not defined", "true"),
    probe("a click in a script-written document happens once", "<h1 id=n>0</h1><iframe id=f></iframe><script>f.contentDocument.open(); f.contentDocument.write(\"<button onclick='top.n.textContent = +top.n.textContent + 1'>Buy</button>\"); f.contentDocument.close()</script>",
        &[r#"{"verb":"click","target":"text=Buy"}"#], "changed +content", "n.textContent === '1'"),
    probe("a page busy during mouse move is clicked once", "<h1 id=n>0</h1><button onclick='n.textContent = +n.textContent + 1' onmousemove='const e = Date.now() + 400; while (Date.now() < e);'>Buy</button>",
        &[r#"{"verb":"click","target":"text=Buy","settleMs":20000}"#], "changed +content", "n.textContent === '1'"),
    probe("an image that shrinks on mouse move gets no click outside of it", "<h1 id=n>0</h1><p id=p><button id=b style='width:200px;height:50px;padding:0'>Buy</button></p><script>b.onmousemove = () => b.style.width = '0px'; p.onclick = (e) => { if (e.target === p) n.textContent = 'beside' }</script>",
        &[r#"{"verb":"click","target":"text=Buy","noWait":true,"settleMs":20000}"#], "act.missed|act.hidden|act.moving|none", "n.textContent === '0'"),
    probe("coordinates are clicked exactly", "<canvas id=c width=300 height=200 style='position:fixed;left:0;top:0'></canvas><h1 id=n>0</h1><script>c.onclick = (e) => n.textContent = e.clientX + ',' + e.clientY</script>",
        &[r#"{"verb":"click","target":"xy=30,50"}"#], "changed", "n.textContent === '30,50'"),
    probe("a list item with nested items is clicked on itself", "<h1 id=n></h1><ul role=tree><li role=treeitem aria-expanded=true tabindex=0 onclick='n.textContent += \"outer \"'><span>Letters</span><ul role=group><li role=treeitem tabindex=-1 onclick='n.textContent += \"inner \"; event.stopPropagation()'>To Ada<li role=treeitem tabindex=-1 onclick='n.textContent += \"inner \"; event.stopPropagation()'>To Bo<li role=treeitem tabindex=-1 onclick='n.textContent += \"inner \"; event.stopPropagation()'>To Cy</ul></ul>",
        &[r#"{"verb":"click","target":"{Letters}"}"#], "changed", "n.textContent === 'outer '"),
    probe("a ref is refused when its row changed in a receipt without it", "<h1 id=n>0</h1><button onclick='who.textContent = \"Bob\"'>Next</button><ul><li><span id=who>Ann</span> <button onclick='n.textContent = who.textContent'>Delete</button><li>Cid <button>Delete</button></ul>",
        &[r#"{"verb":"click","target":"{Next}"}"#, r#"{"verb":"click","target":"{Delete}"}"#], "snapshot.ref-stale", "n.textContent === '0'"),
    probe("refs in a batch are bound to the snapshot before it", "<h1 id=n>0</h1><button onclick='b.textContent = \"Delete account\"'>Next</button><button id=b onclick='n.textContent = this.textContent'>Open</button>",
        &[r#"{"verb":"batch","commands":[{"verb":"click","target":"{Next}"},{"verb":"click","target":"{Open}"}]}"#], "snapshot.ref-stale", "n.textContent === '0'"),
    probe("rows with focusable cells are distinguished", "<h1 id=n>0</h1><div role=grid aria-label=G><div role=row><span tabindex=-1 role=gridcell id=a>Ann</span><span tabindex=-1 role=gridcell><button onclick='n.textContent = a.textContent'>Delete</button></span></div><div role=row><span tabindex=-1 role=gridcell>Cid</span><span tabindex=-1 role=gridcell><button>Delete</button></span></div></div>",
        &["js a.textContent = 'Bob'", r#"{"verb":"click","target":"{Delete}"}"#], "snapshot.ref-stale", "n.textContent === '0'"),
    probe("scrolling into view is not an effect", "<div style='height:3000px'></div><button>Nothing</button>",
        &[r#"{"verb":"click","target":"{Nothing}"}"#], "none", "true"),
    probe("a status line with an earlier late change still counts", "<p id=o>ready</p><button onclick='setTimeout(() => o.textContent = \"saved \" + Math.random(), 150)'>Save</button><button onclick='o.textContent = \"bought\"'>Buy</button>",
        &[r#"{"verb":"click","target":"{button \"Save\"}","settleMs":1}"#, r#"{"verb":"wait","text":"saved"}"#, "js o.textContent = 'ready'", r#"{"verb":"click","target":"{button \"Save\"}","settleMs":1}"#, r#"{"verb":"wait","text":"saved"}"#, r#"{"verb":"click","target":"text=Buy"}"#], "changed +content", "o.textContent === 'bought'"),
    probe("content that fades in is waited for and reported", "<style>#p { opacity: 0; transition: opacity .3s } #p.on { opacity: 1 }</style><button onclick='p.className = \"on\"'>Show</button><p id=p>Panel text</p>",
        &[r#"{"verb":"click","target":"{Show}"}"#], "changed ~Panel", "true"),
    probe("content that a script slides open is waited for and reported", "<button onclick='let h = 0; const go = () => { h += 8; p.style.height = h + \"px\"; if (h < 80) requestAnimationFrame(go) }; go()'>Show</button><div id=p style='height:0;overflow:hidden'>Panel text</div>",
        &[r#"{"verb":"click","target":"{Show}"}"#], "changed ~Panel", "true"),
    probe("keys to an element behind a custom dialog are refused", "<h1 id=n>0</h1><label>Nick <input id=i></label><div role=dialog aria-modal=true style='position:fixed;inset:0;background:#fffc'>Sure? <button>Yes</button></div>",
        &[r#"{"verb":"fill","target":"css=input","value":"x","noWait":true}"#], "act.inert", "i.value === ''"),
    probe("a secret echoed by the page is masked", "<label>Token <input oninput='o.textContent = \"got \" + this.value'></label><p id=o></p>",
        &[r#"{"verb":"fill","target":"{textbox}","secret":"PROBE","value":"fernway-42"}"#], "changed ~••••••", "o.textContent === 'got fernway-42'"),
    // Fields.
    probe("the text of a field is replaced", "<label>Name <input id=i value=old></label>",
        &[r#"{"verb":"fill","target":"{textbox}","value":"new"}"#], "changed +value", "i.value === 'new'"),
    probe("a field is cleared", "<label>Name <input id=i value=old></label>",
        &[r#"{"verb":"fill","target":"{textbox}","value":""}"#], "changed +value", "i.value === ''"),
    probe("a framework-controlled field accepts the text", "<label>Name <input id=i></label><p id=o></p><script>const own = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value'); let last = ''; Object.defineProperty(i, 'value', { get() { return own.get.call(this) }, set(v) { last = v; own.set.call(this, v) } }); i.addEventListener('input', () => { if (i.value !== last) { last = i.value; o.textContent = 'state: ' + last } })</script>",
        &[r#"{"verb":"fill","target":"{textbox}","value":"Ann"}"#], "changed +value +content", "o.textContent === 'state: Ann'"),
    probe("several lines", "<label>Text <textarea id=i></textarea></label>",
        &[r#"{"verb":"fill","target":"{textbox}","value":"one\ntwo"}"#], "changed +value", "i.value === 'one\\ntwo'"),
    probe("a contenteditable element", "<div id=i contenteditable role=textbox aria-label=Note>old <b>text</b></div>",
        &[r#"{"verb":"fill","target":"{Note}","value":"new text"}"#], "changed +value", "i.textContent === 'new text'"),
    probe("a contenteditable element without a role, by its label", "<div id=i contenteditable aria-label='Message body'>old</div>",
        &[r#"{"verb":"fill","target":"label=message body","value":"new text"}"#], "changed +value", "i.textContent === 'new text'"),
    probe("a date", "<label>Day <input id=i type=date></label>",
        &[r#"{"verb":"fill","target":"label=Day","value":"2026-01-31"}"#], "changed +value", "i.value === '2026-01-31'"),
    probe("a date in the wrong format is refused without data loss", "<label>Day <input id=i type=date value=2026-01-01></label>",
        &[r#"{"verb":"fill","target":"label=Day","value":"31.1.2026"}"#], "act.not-taken 2026-01-31", "i.value === '2026-01-01'"),
    probe("a colour", "<label>Ink <input id=i type=color></label>",
        &[r##"{"verb":"fill","target":"label=Ink","value":"#aabbcc"}"##], "changed +value", "i.value === '#aabbcc'"),
    probe("a slider", "<label>Loud <input id=i type=range min=0 max=10></label>",
        &[r#"{"verb":"fill","target":"label=Loud","value":"7"}"#], "changed +value", "i.value === '7'"),
    probe("a number rejected by the field is reported", "<label>Age <input id=i type=number></label>",
        &[r#"{"verb":"fill","target":"label=Age","value":"old"}"#], "act.not-taken empty", "i.value === ''"),
    probe("a truncated text is reported", "<label>Code <input id=i maxlength=3></label>",
        &[r#"{"verb":"fill","target":"{textbox}","value":"12345"}"#], "act.not-taken 123", "true"),
    probe("a text reformatted by the page is accepted", "<label>Phone <input id=i oninput='const d = this.value.replace(/\\D/g, \"\"); this.value = \"(\" + d.slice(0, 3) + \") \" + d.slice(3)'></label>",
        &[r#"{"verb":"fill","target":"{textbox}","value":"5551234"}"#], "changed note:formatted", "i.value === '(555) 1234'"),
    probe("a read-only field is refused", "<label>Id <input id=i readonly value=7></label>",
        &[r#"{"verb":"fill","target":"{textbox}","value":"8","noWait":true}"#], "act.not-editable", "i.value === '7'"),
    probe("a button cannot be filled", "<button>Save</button>",
        &[r#"{"verb":"fill","target":"{Save}","value":"8","noWait":true}"#], "act.not-editable", "true"),
    probe("keys are pressed one by one", "<label>Name <input id=i></label><p id=o>0</p><script>i.onkeydown = () => o.textContent = +o.textContent + 1</script>",
        &[r#"{"verb":"type","target":"{textbox}","text":"Grüße!"}"#], "changed +value", "i.value === 'Grüße!' && +o.textContent >= 4"),
    probe("a one-time code split over several fields", "<div id=f></div><script>for (let k = 0; k < 4; k++) { const i = document.createElement('input'); i.maxLength = 1; i.setAttribute('aria-label', 'Digit ' + k); i.oninput = () => i.nextElementSibling && i.nextElementSibling.focus(); f.append(i) }</script>",
        &[r#"{"verb":"type","target":"{Digit 0}","text":"1234"}"#], "changed +value", "[...f.children].map((i) => i.value).join('') === '1234'"),
    probe("Enter submits a form", "<form action=next><input name=q aria-label=Query></form>",
        &[r#"{"verb":"type","target":"{Query}","text":"cats","submit":true}"#], "navigated", "location.search === '?q=cats'"),
    probe("a chord", "<label>Name <input id=i value=abc></label>",
        &[r#"{"verb":"press","keys":["Control+A","Delete"],"on":"{textbox}"}"#], "changed +value", "i.value === ''"),
    probe("a key goes to the focused element", "<h1 id=n>0</h1><button autofocus onclick='n.textContent=1'>Go</button>",
        &[r#"{"verb":"focus","target":"{Go}"}"#, r#"{"verb":"press","keys":["Enter"]}"#], "changed +content", "n.textContent === '1'"),
    // Selects, checkboxes and radio buttons.
    probe("an option by its label", "<select id=s aria-label=Fruit><option value=a>Apple<option value=b>Banana</select>",
        &[r#"{"verb":"select","target":"{Fruit}","options":["banana"]}"#], "changed +value =Banana", "s.value === 'b'"),
    probe("an option by its index", "<select id=s aria-label=Fruit><option value=a>Apple<option value=b>Banana</select>",
        &[r#"{"verb":"select","target":"{Fruit}","options":["index=1"]}"#], "changed", "s.value === 'b'"),
    probe("several options", "<select multiple id=s aria-label=Fruit><option>Apple<option>Banana<option>Cherry</select>",
        &[r#"{"verb":"select","target":"{Fruit}","options":["Apple","Cherry"]}"#], "changed", "s.selectedOptions.length === 2"),
    probe("a missing option is reported with the available ones", "<select aria-label=Fruit><option>Apple<option>Banana</select>",
        &[r#"{"verb":"select","target":"{Fruit}","options":["Cherry"],"noWait":true}"#], "act.no-option Cherry", "true"),
    probe("a custom list box", "<h1 id=n></h1><ul role=listbox aria-label=Size><li role=option onclick='n.textContent=\"s\"'>Small<li role=option onclick='n.textContent=\"l\"'>Large</ul>",
        &[r#"{"verb":"select","target":"role=listbox[name=\"Size\"]","options":["Large"]}"#], "changed =Large", "n.textContent === 'l'"),
    probe("a checkbox", "<label><input id=i type=checkbox> Agree</label>",
        &[r#"{"verb":"check","target":"{checkbox}"}"#], "changed +value", "i.checked"),
    probe("a checked checkbox is left unchanged", "<label><input id=i type=checkbox checked> Agree</label>",
        &[r#"{"verb":"check","target":"{checkbox}"}"#], "none undone", "i.checked"),
    probe("a checkbox behind its custom drawing", "<label style='position:relative'><input id=i type=checkbox style='opacity:0;position:absolute;width:0;height:0'><span style='display:inline-block;width:20px;height:20px;background:#ccc'></span> Agree</label>",
        &[r#"{"verb":"check","target":"css=input"}"#], "changed +value", "i.checked"),
    probe("a control out of view is clicked itself, not its visible label", "<h1 id=n>0</h1><label id=l for=i>Agree</label><div style='height:3000px'></div><input id=i type=checkbox onmousedown='n.textContent=\"field\"'><script>l.onmousedown = () => n.textContent = 'label'</script>",
        &[r#"{"verb":"check","target":"{checkbox}"}"#], "changed +value", "i.checked && n.textContent === 'field'"),
    probe("a covered control is clicked on its label", "<h1 id=n>0</h1><label id=l for=i>Agree</label><div style='position:relative'><input id=i type=checkbox><span style='position:absolute;inset:0;background:#ccc'></span></div><script>l.onmousedown = () => n.textContent = 'label'</script>",
        &[r#"{"verb":"check","target":"{checkbox}"}"#], "changed +value", "i.checked && n.textContent === 'label'"),
    probe("a covered element inside a control is refused instead of clicking the control", "<h1 id=n>0</h1><div role=listbox aria-label=L><div role=option style='width:300px' onclick='n.textContent=\"select\"'>Alice <span id=x onclick='event.stopPropagation(); n.textContent=\"remove\"'>×</span></div></div><div id=t style='position:absolute;width:40px;height:40px;background:red'>T</div><script>const r = x.getBoundingClientRect(); t.style.left = r.left - 10 + 'px'; t.style.top = r.top - 10 + 'px'</script>",
        &[r##"{"verb":"click","target":"css=#x","noWait":true}"##], "act.covered", "n.textContent === '0'"),
    probe("`details` without a summary opens, with any box style", "<style>details { padding: 30px; border: 5px solid }</style><details id=d>Hidden words</details>",
        &[r#"{"verb":"click","target":"css=details"}"#], "changed", "d.open"),
    probe("a custom switch", "<button role=switch aria-checked=false onclick='this.setAttribute(\"aria-checked\", \"true\")'>Wifi</button>",
        &[r#"{"verb":"check","target":"{Wifi}"}"#], "changed", "document.querySelector('button').ariaChecked === 'true'"),
    probe("a checkbox that the page reverts is reported", "<label><input id=i type=checkbox onclick='return false'> Agree</label>",
        &[r#"{"verb":"check","target":"{checkbox}"}"#], "act.not-taken", "!i.checked"),
    // Mouse, keys and drag.
    probe("a menu that opens on hover", "<style>nav ul { display: none } nav:hover ul { display: block }</style><h1 id=n>0</h1><nav><button>Menu</button><ul><li><button onclick='n.textContent=1'>Item</button></ul></nav>",
        &[r#"{"verb":"hover","target":"{Menu}"}"#, r#"{"verb":"click","target":"text=Item"}"#], "changed", "n.textContent === '1'"),
    probe("two clicks are a double click", "<h1 id=n>0</h1><button ondblclick='n.textContent=2'>Twice</button>",
        &[r#"{"verb":"dblclick","target":"{Twice}"}"#], "changed", "n.textContent === '2'"),
    probe("the right button", "<h1 id=n>0</h1><button oncontextmenu='n.textContent=1; return false'>Menu</button>",
        &[r#"{"verb":"click","target":"{Menu}","button":"right"}"#], "changed", "n.textContent === '1'"),
    probe("a click with a modifier key", "<h1 id=n>0</h1><button onclick='n.textContent = event.ctrlKey && event.shiftKey'>Go</button>",
        &[r#"{"verb":"click","target":"{Go}","modifiers":["control","shift"]}"#], "changed", "n.textContent === 'true'"),
    probe("a target that is not a field is refused with alternatives", "<select aria-label=Size><option>S<option>L</select>",
        &[r#"{"verb":"fill","target":"{Size}","value":"L"}"#], "act.not-editable use `select`", "document.querySelector('select').value === 'S'"),
    probe("a mouse drag", "<h1 id=n>0</h1><div id=b role=button tabindex=0 style='position:absolute;left:20px;top:120px;width:60px;height:60px;background:red'>Box</div><div id=t role=button tabindex=0 style='position:absolute;left:300px;top:300px;width:100px;height:100px;background:#ccc'>Bin</div><script>let d = false; b.onpointerdown = () => d = true; onpointermove = (e) => { if (d) b.style.translate = (e.clientX - 50) + 'px ' + (e.clientY - 150) + 'px' }; onpointerup = (e) => { if (d && e.clientX > 300 && e.clientY > 300) n.textContent = 1; d = false }</script>",
        &[r#"{"verb":"drag","target":"{Box}","to":"{Bin}"}"#], "changed", "n.textContent === '1'"),
    probe("an HTML drag and drop", "<h1 id=n>0</h1><div role=button tabindex=0 draggable=true style='width:80px;height:40px' ondragstart='event.dataTransfer.setData(\"text/plain\", \"cargo\")'>Box</div><div role=button tabindex=0 style='width:200px;height:100px;background:#ccc' ondragover='event.preventDefault()' ondrop='n.textContent = event.dataTransfer.getData(\"text/plain\")'>Bin</div>",
        &[r#"{"verb":"drag","target":"{Box}","to":"{Bin}"}"#], "changed", "n.textContent === 'cargo'"),
    probe("files for a file input", "<input id=i type=file aria-label=Files multiple>",
        &[r#"{"verb":"upload","target":"{Files}","files":["FILE"]}"#], "changed +value", "i.files[0].name === 'upload.txt'"),
    probe("files for a button that opens a chooser", "<input id=i type=file hidden><button onclick='i.click()'>Choose</button><p id=o></p><script>i.onchange = () => o.textContent = i.files[0].name</script>",
        &[r#"{"verb":"upload","target":"{Choose}","files":["FILE"]}"#], "changed +content", "o.textContent === 'upload.txt'"),
    probe("a missing file is refused", "<input type=file aria-label=Files>",
        &[r#"{"verb":"upload","target":"{Files}","files":["/no/such/file"]}"#], "file.read-failed", "true"),
    probe("two files for a single-file input are refused", "<input id=i type=file aria-label=Files>",
        &[r#"{"verb":"upload","target":"{Files}","files":["FILE","FILE"]}"#], "command.invalid one file only", "i.files.length === 0"),
    probe("several files for a multiple-file input", "<input id=i type=file aria-label=Files multiple>",
        &[r#"{"verb":"upload","target":"{Files}","files":["FILE","FILE"]}"#], "changed +value =2 files", "i.files.length === 2"),
    probe("no files clear a file input", "<input id=i type=file aria-label=Files><p id=o></p><script>i.onchange = () => o.textContent += i.files.length</script>",
        &[r#"{"verb":"upload","target":"{Files}","files":["FILE"]}"#, r#"{"verb":"upload","target":"{Files}","files":[]}"#], "changed +value =0 files", "i.files.length === 0 && o.textContent === '10'"),
    probe("files that the page removes from the input are counted", "<input id=i type=file aria-label=Files><p id=o></p><script>i.onchange = () => { o.textContent = i.files[0].name; i.value = '' }</script>",
        &[r#"{"verb":"upload","target":"{Files}","files":["FILE"]}"#], "changed note:taken-out =1 file", "o.textContent === 'upload.txt'"),
    probe("a file input by its label", "<label>Your photo <input id=i type=file></label>",
        &[r#"{"verb":"upload","target":"label=photo","files":["FILE"]}"#], "changed +value =1 file", "i.files.length === 1"),
    probe("a hidden file input by its visible label", "<label><b>Attach</b> <span>a photo</span><input id=i type=file hidden></label>",
        &[r#"{"verb":"upload","target":"label=attach a photo","files":["FILE"]}"#], "changed +value =1 file", "i.files.length === 1"),
    probe("files for a page that opens a dialog about them", "<input id=i type=file aria-label=Files onchange='alert(\"Sure?\")'>",
        &[r#"{"verb":"upload","target":"{Files}","files":["FILE"]}"#], "dialog !dialog Sure?", ""),
    // File choosers.
    probe("a click that opens a file chooser reports it", "<input id=i type=file hidden><button onclick='i.click()'>Choose</button>",
        &[r#"{"verb":"click","target":"{Choose}"}"#], "changed +chooser !file-chooser asks for a file; give it with `agbrowse upload --chooser FILE`", "i.files.length === 0"),
    probe("a file chooser is filled", "<input id=i type=file hidden><button onclick='i.click()'>Choose</button><p id=o></p><script>i.onchange = () => o.textContent = i.files[0].name</script>",
        &[r#"{"verb":"click","target":"{Choose}"}"#, r#"{"verb":"upload","chooser":["FILE"]}"#], "changed +content +value =1 file", "o.textContent === 'upload.txt'"),
    probe("the file chooser of a label", "<label>Photo<input id=i type=file style='display:none'></label>",
        &[r#"{"verb":"click","target":"text=Photo"}"#, r#"{"verb":"upload","chooser":["FILE"]}"#], "changed +value =1 file", "i.files.length === 1"),
    probe("the file chooser of a multiple-file input", "<input id=i type=file multiple aria-label=Files>",
        &[r#"{"verb":"click","target":"{Files}"}"#, r#"{"verb":"upload","chooser":["FILE","FILE"]}"#], "changed +value =2 files", "i.files.length === 2"),
    probe("the file chooser opened by a key", "<input id=i type=file aria-label=Files>",
        &[r#"{"verb":"press","keys":["Enter"],"on":"{Files}"}"#, r#"{"verb":"upload","chooser":["FILE"]}"#], "changed +value =1 file", "i.files.length === 1"),
    probe("the file chooser opened by `showPicker`", "<input id=i type=file hidden><button onclick='i.showPicker()'>Choose</button>",
        &[r#"{"verb":"click","target":"{Choose}"}"#, r#"{"verb":"upload","chooser":["FILE"]}"#], "changed +value", "i.files.length === 1"),
    probe("the file chooser of a detached input", "<button>Choose</button><p id=o></p><script>document.querySelector('button').onclick = () => { const i = document.createElement('input'); i.type = 'file'; i.onchange = () => o.textContent = i.files[0].name; i.click() }</script>",
        &[r#"{"verb":"click","target":"{Choose}"}"#, r#"{"verb":"upload","chooser":["FILE"]}"#], "changed +content +value =1 file", "o.textContent === 'upload.txt'"),
    probe("two files for a single-file chooser are refused, and it stays open", "<input id=i type=file aria-label=Files>",
        &[r#"{"verb":"click","target":"{Files}"}"#, r#"{"verb":"upload","chooser":["FILE","FILE"]}"#, r#"{"verb":"upload","chooser":["FILE"]}"#], "changed +value =1 file", "i.files.length === 1"),
    probe("a file chooser is canceled", "<input id=i type=file hidden><button onclick='i.click()'>Choose</button><p id=o></p><script>i.oncancel = () => o.textContent = 'canceled'</script>",
        &[r#"{"verb":"click","target":"{Choose}"}"#, r#"{"verb":"upload","chooser":[]}"#], "changed +content =canceled", "o.textContent === 'canceled'"),
    probe("a file chooser is filled once", "<input id=i type=file aria-label=Files>",
        &[r#"{"verb":"click","target":"{Files}"}"#, r#"{"verb":"upload","chooser":["FILE"]}"#, r#"{"verb":"upload","chooser":["FILE"]}"#], "page.no-dialog no file chooser is open", "i.files.length === 1"),
    probe("of two file choosers the last is filled", "<input id=i type=file hidden><input id=j type=file hidden><button onclick='i.click()'>One</button><button onclick='j.click()'>Two</button>",
        &[r#"{"verb":"click","target":"{One}"}"#, r#"{"verb":"click","target":"{Two}"}"#, r#"{"verb":"upload","chooser":["FILE"]}"#], "changed", "i.files.length === 0 && j.files.length === 1"),
    probe("a file chooser is closed by navigation", "<input type=file aria-label=Files>",
        &[r#"{"verb":"click","target":"{Files}"}"#, r#"{"verb":"reload"}"#, r#"{"verb":"upload","chooser":["FILE"]}"#], "page.no-dialog click the element that opens one", "true"),
    probe("a file chooser in a cross-site frame", "<h1 id=n>0</h1><iframe src='OTHER/asking' width=400 height=200></iframe><script>onmessage = ({ data }) => n.textContent = data</script>",
        &[r#"{"verb":"click","target":"text=Choose"}"#, r#"{"verb":"upload","chooser":["FILE"]}"#], "changed +content +value =1 file", "n.textContent === 'upload.txt'"),
    probe("files for a button in a cross-site frame", "<h1 id=n>0</h1><iframe src='OTHER/asking' width=400 height=200></iframe><script>onmessage = ({ data }) => n.textContent = data</script>",
        &[r#"{"verb":"upload","target":"text=Choose","files":["FILE"]}"#], "changed +content", "n.textContent === 'upload.txt'"),
    probe("a file chooser is closed by navigation of its frame", "<iframe id=f src='OTHER/asking' width=400 height=200></iframe>",
        &[r#"{"verb":"click","target":"text=Choose"}"#, "js new Promise((go) => { f.onload = go; f.src = '/framed' })", r#"{"verb":"upload","chooser":["FILE"]}"#], "page.no-dialog", "true"),
    probe("a file chooser is closed when its frame is removed", "<iframe id=f src='/asking' width=400 height=200></iframe>",
        &[r#"{"verb":"click","target":"text=Choose"}"#, "js f.remove()", r#"{"verb":"upload","chooser":["FILE"]}"#], "page.no-dialog", "true"),
    probe("a file chooser in a script-written frame", "<h1 id=n>0</h1><iframe id=f></iframe><script>onmessage = ({ data }) => n.textContent = data; f.contentDocument.write('<input id=i type=file hidden onchange=\"parent.postMessage(i.files[0].name)\"><button onclick=\"i.click()\">Choose</button>'); f.contentDocument.close()</script>",
        &[r#"{"verb":"click","target":"text=Choose"}"#, r#"{"verb":"upload","chooser":["FILE"]}"#], "changed +content =1 file", "n.textContent === 'upload.txt'"),
    probe("a file chooser of an invisible frame", "<button onclick='f.contentDocument.querySelector(\"input\").click()'>Choose</button><h1 id=n>0</h1><iframe id=f hidden></iframe><script>onmessage = ({ data }) => n.textContent = data; f.contentDocument.write('<input id=i type=file onchange=\"parent.postMessage(i.files[0].name)\">'); f.contentDocument.close()</script>",
        &[r#"{"verb":"click","target":"{Choose}"}"#, r#"{"verb":"upload","chooser":["FILE"]}"#], "changed +content =1 file", "n.textContent === 'upload.txt'"),
    probe("a file chooser without a user gesture does not open", "<input id=i type=file aria-label=Files><script>setTimeout(() => i.click(), 10)</script>",
        &["js new Promise((go) => setTimeout(go, 100))", r#"{"verb":"upload","chooser":["FILE"]}"#], "page.no-dialog", "i.files.length === 0"),
    probe("an unsupported file picker API is reported", "<button onclick='showOpenFilePicker().catch(({ name }) => this.textContent = name)'>Pick</button>",
        &[r#"{"verb":"click","target":"{Pick}"}"#], "changed +chooser !file-chooser got none", "document.querySelector('button').textContent === 'AbortError'"),
    probe("files for another target do not go to the open file chooser", "<input type=file aria-label=Files>",
        &[r#"{"verb":"click","target":"{Files}"}"#, r#"{"verb":"upload","files":["FILE"]}"#], "command.invalid", "true"),
    // Custom list boxes.
    probe("a list box that hides the page from the accessibility tree while open", "<div id=app><div id=c role=combobox tabindex=0 aria-expanded=false aria-haspopup=listbox aria-label=Age>-</div></div><script>c.onmousedown = () => { app.insertAdjacentHTML('afterend', '<ul role=listbox id=l><li role=option onclick=\"took(this)\">Ten<li role=option onclick=\"took(this)\">Twenty</ul>'); c.setAttribute('aria-expanded', 'true'); app.setAttribute('aria-hidden', 'true') }; const took = (it) => { c.textContent = it.textContent; l.remove(); app.removeAttribute('aria-hidden'); c.setAttribute('aria-expanded', 'false') }</script>",
        &[r#"{"verb":"select","target":"{Age}","options":["Twenty"]}"#], "changed =Twenty", "c.textContent === 'Twenty'"),
    probe("a list box with separate visual and accessible options", "<label for=c>Country</label><div id=b><input id=c role=combobox aria-haspopup=listbox aria-expanded=false readonly></div><p id=o></p><span role=radio tabindex=0 aria-checked=false>Day</span><div id=d></div><script>b.onmousedown = () => { d.innerHTML = '<div role=listbox style=\"height:0;width:0;overflow:hidden\"><div role=option>Austria</div></div><div onclick=\"o.textContent=this.textContent\">Austria</div><div onclick=\"o.textContent=this.textContent\">Chile</div>'; c.setAttribute('aria-expanded', 'true') }</script>",
        &[r#"{"verb":"select","target":"label=Country","options":["Chile"]}"#], "changed =Chile", "o.textContent === 'Chile'"),
    probe("a suggestion of a field is filled in", "<label>Browser <input id=i list=l></label><datalist id=l><option>Firefox<option value=Chromium>The free one</datalist><select aria-label=Other><option>AT</select>",
        &[r#"{"verb":"select","target":"label=Browser","options":["The free one"]}"#], "changed +value =Chromium", "i.value === 'Chromium'"),
    probe("a value that is not suggested is refused", "<label>Browser <input id=i list=l></label><datalist id=l><option>Firefox</datalist>",
        &[r#"{"verb":"select","target":"label=Browser","options":["Lynx"],"noWait":true}"#], "act.no-option Lynx", "i.value === ''"),
    probe("a list opened without a match is closed again", "<div id=c role=combobox tabindex=0 aria-expanded=false aria-haspopup=listbox aria-label=Age>-</div><script>const open = (is) => { c.setAttribute('aria-expanded', is); globalThis.l?.remove(); if (is) c.insertAdjacentHTML('afterend', '<ul role=listbox id=l><li role=option>Ten</ul>') }; c.onclick = () => open(true); onkeydown = ({ key }) => key === 'Escape' && open(false)</script>",
        &[r#"{"verb":"select","target":"{Age}","options":["Ninety"],"noWait":true}"#], "act.no-option Ninety", "c.getAttribute('aria-expanded') === 'false'"),
    probe("a text rendered in the inner button of a component", "<x-b>Yes</x-b><p id=o></p><script>customElements.define('x-b', class extends HTMLElement { connectedCallback() { this.attachShadow({ mode: 'open' }).innerHTML = '<button><span><slot></slot></span></button>'; this.onclick = () => o.textContent = 'done' } })</script>",
        &[r#"{"verb":"click","target":"text=Yes"}"#], "changed +content", "o.textContent === 'done'"),
    probe("a text covered by another part of its own button", "<h1 id=n>0</h1><button style='position:relative' onclick='n.textContent=1'><span>Cheap</span><span style='position:absolute;inset:0'></span></button>",
        &[r#"{"verb":"click","target":"text=Cheap"}"#], "changed +content", "n.textContent === '1'"),
    // Controls drawn by their labels.
    probe("a radio button with a label styled as a button", "<style>input { position:absolute; clip:rect(0,0,0,0); pointer-events:none }</style><input type=radio name=r id=a checked><label for=a>Left</label> <input type=radio name=r id=b><label for=b>Right</label>",
        &[r#"{"verb":"check","target":"label=Right"}"#], "changed +value", "b.checked"),
    probe("a rating star covered by the label of another star", "<style>input { position:absolute; left:9px; top:9px; width:1px; height:1px; margin:-1px; clip:rect(0,0,0,0) } label { display:inline-block; width:40px; height:40px }</style><label for=a>One star</label><input type=radio name=r id=a><label for=b>Two stars</label><input type=radio name=r id=b>",
        &[r#"{"verb":"click","target":"label=Two stars"}"#], "changed +value", "b.checked"),
    probe("content shown by a `:hover` rule is a change", "<style>.s { display:none } .d:hover .s { display:block }</style><div class=d style='width:100px'>Products<div class=s><a href='#p'>Phones</a></div></div>",
        &[r#"{"verb":"hover","target":"text=Products","expect":"changed"}"#], "changed +content ~Phones", "true"),
    probe("a `:hover` color is not a change", "<style>button:hover { color: red }</style><button>Nothing</button>",
        &[r#"{"verb":"hover","target":"{Nothing}"}"#], "none", "true"),
    probe("a fade-in after a fade-out is waited for", "<style>.f { transition:opacity .2s } .h { opacity:0 }</style><div id=r><div class=f>Step one <input aria-label=Email></div></div><button onclick='const a = r.firstChild; a.classList.add(\"h\"); a.addEventListener(\"transitionend\", () => { r.innerHTML = \"<div class=\\\"f h\\\">Step two <button>Pick plan</button></div>\"; requestAnimationFrame(() => requestAnimationFrame(() => r.firstChild.classList.remove(\"h\"))) }, { once: true })'>Next</button>",
        &[r#"{"verb":"click","target":"{Next}"}"#], "changed +content ~Pick", "getComputedStyle(r.firstChild).opacity === '1'"),
    // Custom editors.
    probe("a custom editor is typed into", "<div id=e role=textbox aria-label=Code tabindex=0 style='height:60px'></div><p id=o></p><script>const c = new EditContext(); e.editContext = c; c.addEventListener('textupdate', () => { e.textContent = c.text; o.textContent = c.text })</script>",
        &[r#"{"verb":"type","target":"{Code}","text":"let a"}"#], "changed +content", "o.textContent === 'let a'"),
    probe("the text of a custom editor is replaced", "<div id=e role=textbox aria-label=Code tabindex=0 style='height:60px'></div><p id=o></p><script>const c = new EditContext(); e.editContext = c; c.addEventListener('textupdate', () => { e.textContent = c.text; o.textContent = c.text })</script>",
        &[r#"{"verb":"fill","target":"{Code}","value":"one"}"#, r#"{"verb":"fill","target":"css=#e","value":"two"}"#], "changed +content", "o.textContent === 'two'"),
    probe("an element with only key listeners is typed into, with a note that it was not read back", "<div id=e role=textbox aria-label=Code tabindex=0 style='height:60px'></div><canvas id=k></canvas><script>let held = ''; e.onkeydown = ({ key }) => { held = key.length > 1 ? held : key === 'a' && event.ctrlKey ? '' : held + key; k.title = held }</script>",
        &[r#"{"verb":"fill","target":"{Code}","value":"hi"}"#], "changed note:unverified", "held === 'hi'"),
    probe("the focused element is typed into", "<input id=i aria-label=Name>",
        &["js i.focus()", r#"{"verb":"type","target":":focus","text":"Ann"}"#], "changed +value", "i.value === 'Ann'"),
    probe("a slider reports its range", "<label>Size <input id=i type=range max=10 value=4></label>",
        &[r#"{"verb":"fill","target":"label=Size","value":"99"}"#], "act.not-taken from 0 to 10", "i.value === '4'"),
    probe("one of several matches, by number, is scrolled into view", "<p class=r>One</p><div style='height:3000px'></div><p class=r id=b>Two</p>",
        &[r#"{"verb":"scroll","target":"css=.r","nth":1}"#], "changed +scroll", "b.getBoundingClientRect().bottom <= innerHeight"),
    probe("a visible `aria-hidden` target is reported as such", "<div aria-hidden=true><button id=b style='position:fixed;left:0;top:0;width:80px;height:40px'>Pay</button></div>",
        &[r#"{"verb":"click","target":"css=#b","noWait":true}"#], "target.not-found xy=40,20", "true"),
    probe("an effect of a selection is waited for", "<p>Some words</p><p id=o></p><script>document.addEventListener('selectionchange', () => setTimeout(() => o.textContent = 'heard', 20))</script>",
        &[r#"{"verb":"press","keys":["Control+A"]}"#], "changed +content", "o.textContent === 'heard'"),
    probe("a selection by keys is a change", "<p>Some words",
        &[r#"{"verb":"press","keys":["Control+A"]}"#], "changed +selection", "String(getSelection()) !== ''"),
    // URLs of external programs: in a headless browser nobody could answer the prompt.
    probe("a link to an external program is not opened, and reported", "<a href='tel:123'>Call</a>",
        &[r#"{"verb":"click","target":"{Call}"}"#], "none !external-link tel:123", "true"),
    probe("a link to an external program leaves the page usable", "<a href='zoommtg://join?x=1'>Join</a> <h1 id=n>0</h1><button onclick='n.textContent=1'>Go</button>",
        &[r#"{"verb":"click","target":"{Join}"}"#, r#"{"verb":"click","target":"{Go}"}"#], "changed +content", "n.textContent === '1'"),
    probe("a mailto link is not a navigation", "<a href='mailto:a@b.org'>Mail</a>",
        &[r#"{"verb":"click","target":"{Mail}"}"#], "none !external-link mailto:", "true"),
    probe("a link to an external program in a new tab opens none", "<a href='slack://open' target=_blank>Slack</a>",
        &[r#"{"verb":"click","target":"{Slack}"}"#], "none !external-link slack:", "true"),
    probe("a script navigation to an external program leaves the page usable", "<h1 id=n>0</h1><button onclick='location = \"tel:1\"; n.textContent=1'>Call</button>",
        &[r#"{"verb":"click","target":"{Call}"}"#, r#"{"verb":"click","target":"{Call}"}"#], "changed +content !external-link tel:1", "n.textContent === '1'"),
    probe("a URL of an external program is refused at once", "<p>Page",
        &[r#"{"verb":"open","url":"nosuch://x"}"#], "command.invalid nosuch", "true"),
    probe("scrolling to the end of a scroll container", "<div role=list id=l style='height:100px;overflow:auto'><p role=listitem>First<div style='height:2000px'></div><p>Last</div>",
        &[r#"{"verb":"scroll","target":"css=#l","way":"end"}"#], "changed +scroll", "l.scrollTop > 1000"),
    probe("an element is scrolled into view", "<div style='height:3000px'></div><button id=b>Deep</button>",
        &[r#"{"verb":"scroll","target":"{Deep}"}"#], "changed +scroll", "b.getBoundingClientRect().bottom <= innerHeight"),
    probe("`can` reports success without acting", "<div style='height:3000px'></div><h1 id=n>0</h1><button onclick='n.textContent=1'>Deep</button>",
        &[r#"{"verb":"can","action":"click","target":"{Deep}"}"#], "can ok", "n.textContent === '0' && scrollY === 0"),
    probe("`can` reports failure with the reason", "<button disabled>Pay</button>",
        &[r#"{"verb":"can","action":"click","target":"{Pay}"}"#], "can fail", "true"),
    probe("the receipt of a form has all fields", "<label>Name <input id=a></label><label><input type=checkbox id=c checked> Agree</label>",
        &[r#"{"verb":"fill-form","fields":[{"target":"label=Name","value":"Ann"},{"target":"label=Agree","value":"true"}]}"#], "changed +value", "a.value === 'Ann' && c.checked"),
    probe("a batch stops at the first failure", "<h1 id=n>0</h1><button onclick='n.textContent = +n.textContent + 1'>Count</button>",
        &[r#"{"verb":"batch","commands":[{"verb":"click","target":"{Count}"},{"verb":"click","target":"css=#gone","noWait":true},{"verb":"click","target":"{Count}"}]}"#], "target.not-found", "n.textContent === '1'"),
    probe("a form is filled in at once", "<label>Name <input id=a></label><label>Size <select id=b><option>S<option>L</select></label><label><input type=checkbox id=c> Agree</label>",
        &[r#"{"verb":"fill-form","fields":[{"target":"label=Name","value":"Ann"},{"target":"label=Size","value":"L"},{"target":"label=Agree","value":"true"}]}"#], "changed", "a.value === 'Ann' && b.value === 'L' && c.checked"),
];

#[test]
fn probes_table_is_current() {
    browser_test(async |t| {
        let file = std::env::temp_dir().join(format!("{}-{}", std::process::id(), t.context));
        std::fs::create_dir_all(&file).unwrap();
        let file = file.join("upload.txt");
        std::fs::write(&file, "text").unwrap();
        t.page("/next", "<!doctype html><title>Next page</title><h1>Next</h1>");
        t.page(
            "/framed",
            "<!doctype html><h1 id=n>0</h1><button onclick='n.textContent=1'>Framed</button>",
        );
        t.page(
            "/asking",
            "<!doctype html><input id=i type=file hidden onchange='parent.postMessage(i.files[0].name, \"*\")'>\
             <button onclick='i.click()'>Choose</button>",
        );
        t.page("/slow", "an answer");
        t.serve("/never", Route::Hang);
        t.serve("/file", Route::File("report.csv".into(), b"a,b\n".to_vec()));
        let only = std::env::var("AGBROWSE_PROBE").ok();
        let mut wrong = String::new();
        let mut table = String::from("| Behaviour | Expected outcome |\n|---|---|\n");
        for probe in PROBES {
            if only.as_ref().is_some_and(|only| !probe.name.contains(only)) {
                continue;
            }
            if let Err(reason) = run_probe(&t, probe, &file).await {
                let _ = writeln!(wrong, "{}: {reason}", probe.name);
            }
            let expected = probe.expected.split([' ', '|']).next().unwrap_or_default();
            let _ = writeln!(table, "| {} | `{expected}` |", probe.name);
        }
        _ = std::fs::remove_dir_all(file.parent().unwrap());
        assert!(wrong.is_empty(), "\n{wrong}");
        eprintln!("{} behaviours, all pass", PROBES.len());
        if only.is_none() {
            assert!(PROBES.len() >= 40);
            write_table(&table);
        }
    });
}

/// Compares the section of the document with the table, or replaces it with `BLESS=1`.
fn write_table(table: &str) {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/benchmarks.md"));
    let text = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- probes: begin -->\n", "<!-- probes: end -->");
    let count = PROBES.len();
    let section =
        format!("{begin}{count} behaviours, tested in Chromium; all pass.\n\n{table}{end}");
    let from = text.find(begin).expect("a place for the table");
    let to = text.find(end).expect("its end") + end.len();
    if std::env::var_os("BLESS").is_some() {
        let text = format!("{}{section}{}", &text[..from], &text[to..]);
        std::fs::write(&path, text).unwrap();
        return;
    }
    assert!(text[from..to] == section, "docs/benchmarks.md is not current: run `./dev bless`");
}

async fn run_probe(t: &TestContext, probe: &Probe, file: &Path) -> Result<(), String> {
    // Tabs left open by the probe before.
    for tab in t.tabs().await.iter().skip(1) {
        _ = t
            .run(
                serde_json::from_value(
                    serde_json::json!({"verb": "tab", "action": "close", "id": tab.id}),
                )
                .unwrap(),
            )
            .await;
    }
    _ = t.run(serde_json::from_str(r#"{"verb":"dialog","answer":"dismiss"}"#).unwrap()).await;
    let body = probe.page.replace("OTHER", t.other_url("").trim_end_matches('/'));
    t.page("/probe", format!("<!doctype html><title>Probe</title>{body}"));
    t.open("/probe").await;
    let page_text = match t.run(Command::Snapshot(Snapshot::default())).await {
        Ok(Outcome { reply: Reply::Snapshot(SnapshotReply::Text(text)), .. }) => text.text,
        other => return Err(format!("no snapshot: {other:?}")),
    };
    let mut last = None;
    for step in probe.steps {
        if let Some(script) = step.strip_prefix("js ") {
            t.eval(script).await;
            continue;
        }
        let step = with_refs(step, &page_text).replace("FILE", &file.display().to_string());
        let command: Command =
            serde_json::from_str(&step).map_err(|error| format!("{step}: {error}"))?;
        let request = Request {
            timeout_ms: Some(8_000),
            context: Some(t.context.clone()),
            ..Request::new(command)
        };
        last = Some(t.browser.run(request).await);
    }
    let outcome = last.expect("a step");
    let is_met = probe.expected.split('|').any(|expected| matches_outcome(expected, &outcome));
    if !is_met {
        return Err(format!("expected `{}`, got {}", probe.expected, describe(&outcome)));
    }
    if probe.then.is_empty() {
        return Ok(());
    }
    let then = t.eval(&format!("!!({})", probe.then)).await;
    if then == "true" {
        Ok(())
    } else {
        Err(format!("`{}` is not true; {}", probe.then, describe(&outcome)))
    }
}

/// Replaces the words in `{…}` of a step by refs. JSON has braces of its own.
fn with_refs(step: &str, page_text: &str) -> String {
    let mut out = String::new();
    let mut rest = step;
    while let Some(at) = rest.find("\"{") {
        let Some(end) = rest[at..].find("}\"") else { break };
        out.push_str(&rest[..=at]);
        let words = rest[at + 2..at + end].replace("\\\"", "\"");
        out.push_str(&ref_of(page_text, &words));
        rest = &rest[at + end + 1..];
    }
    out + rest
}

pub fn describe(actual: &Result<Outcome, Error>) -> String {
    match actual {
        Ok(outcome) => format!("{} {:?}", outcome.reply, outcome.notes),
        Err(error) => error.to_string(),
    }
}

fn receipt(outcome: &Outcome) -> Option<&Receipt> {
    match &outcome.reply {
        Reply::Click(it)
        | Reply::Dblclick(it)
        | Reply::Hover(it)
        | Reply::Fill(it)
        | Reply::Type(it)
        | Reply::Press(it)
        | Reply::Select(it)
        | Reply::Check(it)
        | Reply::Uncheck(it)
        | Reply::FillForm(it)
        | Reply::Drag(it)
        | Reply::Mouse(it)
        | Reply::Upload(it)
        | Reply::Scroll(it)
        | Reply::Focus(it)
        | Reply::Download(it) => Some(it),
        _ => None,
    }
}

pub fn matches_outcome(expected: &str, actual: &Result<Outcome, Error>) -> bool {
    let (first, rest) = expected.trim().split_once(' ').unwrap_or((expected.trim(), ""));
    if first == "reply" {
        return actual.is_ok();
    }
    if let Some(code) = Code::ALL.iter().find(|code| code.as_str() == first) {
        return actual
            .as_ref()
            .is_err_and(|error| error.code() == *code && error.to_string().contains(rest));
    }
    let Ok(outcome) = actual else { return false };
    if let ("can", Reply::Can(row)) = (first, &outcome.reply) {
        return row.state.as_str() == rest;
    }
    let Some(receipt) = receipt(outcome) else { return false };
    let is_undone = rest == "undone";
    // Every receipt has its target and the way it was resolved.
    let is_whole = !receipt.action.is_empty()
        && receipt.dispatched != is_undone
        && (receipt.target.is_none() || receipt.strategy.is_some())
        && !receipt.settled.how.is_empty();
    let mut words = rest.split(' ').filter(|word| !word.is_empty() && *word != "undone");
    let mut is_met = is_whole && receipt.effect.as_str() == first;
    while let Some(word) = words.next() {
        is_met = is_met
            && match word.split_at(1) {
                ("+", change) => receipt.changes.iter().any(|it| it == change),
                ("=", end) => {
                    let end = words.by_ref().fold(end.to_owned(), |end, word| end + " " + word);
                    receipt.value.as_ref().is_some_and(|value| value.ends_with(&end))
                }
                ("!", kind) => {
                    let message = words.by_ref().collect::<Vec<_>>().join(" ");
                    receipt
                        .events
                        .iter()
                        .any(|it| it.kind == kind && it.to_string().contains(&message))
                }
                ("~", words) => receipt.delta.contains(words) && !receipt.delta.contains("fernway"),
                _ => match word.strip_prefix("note:") {
                    Some(code) => outcome.notes.iter().any(|note| note.code == code),
                    None => panic!("`{word}` is not understood"),
                },
            };
    }
    is_met
}
