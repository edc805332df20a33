//! Hostile pages: each gives a snapshot or an error with a code, in time, and the next command works.

use crate::harness::{TestContext, browser_test, eval, open, tab_id};
use crate::snapshot::{
    details, get, has_ref, open_html, ref_of, renumbered, snapshot, snapshot_text,
};
use crate::tabs::new_tab;
use agbrowse_browser::command::{Open, Property, Snapshot, Until};
use agbrowse_browser::{Code, Command};
use std::time::{Duration, Instant};

/// Time limit of a snapshot.
const LIMIT_MS: u64 = 15_000;

fn fresh() -> Snapshot {
    Snapshot { fresh: true, ..Snapshot::default() }
}

/// A snapshot within the limit; its text, or the code of its error. The next command must work.
async fn check_survival(t: &TestContext, case: &str) -> Result<String, Code> {
    let began = Instant::now();
    let result = t.run_within(LIMIT_MS, snapshot(fresh())).await;
    assert!(
        began.elapsed() < Duration::from_millis(LIMIT_MS + 10_000),
        "{case} took {:?}",
        began.elapsed()
    );
    assert_eq!(t.eval("1 + 1").await, "2", "{case}");
    match result {
        Ok(outcome) => Ok(outcome.reply.to_string()),
        Err(error) => Err(error.code()),
    }
}

#[test]
fn patched_prototypes_do_not_affect_snapshot() {
    const CONTENT: &str = "<h1>Title</h1><form><label>Name <input value=v></label><button>Send</button></form>
        <ul><li><a href=/a>A</a></ul><div><template shadowrootmode=open><p>Inside</p></template></div>
        <div id=c onclick='1' style='cursor: pointer'>Click</div><table><tr><td>1<td>2</table>";
    browser_test(async |t| {
        let plain = open_html(&t, CONTENT, Snapshot::default()).await;
        assert!(plain.contains("\"Inside\"") && plain.contains("\"Click\""), "{plain}");
        for script in [
            "for (const it of [Array, Object, String, Map, Set, WeakMap, Promise, RegExp, Function])
               for (const name of Object.getOwnPropertyNames(it.prototype))
                 if (name !== 'constructor') try { it.prototype[name] = () => { throw 'caught' } } catch {}",
            "for (const it of [Node, Element, HTMLElement, Document, DocumentFragment, ShadowRoot, HTMLInputElement])
               for (const name of Object.getOwnPropertyNames(it.prototype))
                 try { Object.defineProperty(it.prototype, name, { get() { throw 'caught' }, configurable: true }) } catch {}",
            "Object.prototype.value = Object.prototype.get = Object.prototype.isNotInjected = 'polluted';
             Object.prototype.toJSON = () => 'polluted'; Array.prototype.toJSON = () => 'polluted'",
            "Object.defineProperty(Object.prototype, 'root', { value: 7 }); Object.prototype.firewall = false",
            "window.getComputedStyle = document.querySelectorAll = document.createTreeWalker = () => { throw 'caught' };
             window.CSSStyleSheet = window.WeakMap = window.MutationObserver = undefined",
            "globalThis.agbrowse = { observe: () => 'forged' }; window.Object = window.Array = null",
            "Array.prototype[Symbol.iterator] = function* () { throw 'caught' }; Symbol.iterator = 1",
            "JSON.stringify = JSON.parse = () => 'forged'",
        ] {
            open_html(&t, CONTENT, Snapshot::default()).await;
            // In the main world, not through a command: no command may depend on it.
            t.page("/evil", format!("<!doctype html><title>Page</title>{CONTENT}<script>{script}</script>"));
            t.open("/evil").await;
            let text = renumbered(&snapshot_text(&t, fresh()).await);
            assert_eq!(text, plain, "{script}");
            let name = ref_of(&snapshot_text(&t, Snapshot::default()).await, "\"Send\"");
            assert_eq!(t.run(get(Property::Text, &name)).await.unwrap().reply.to_string(), "Send", "{script}");
        }
    });
}

#[test]
fn clobbered_properties_do_not_affect_snapshot() {
    browser_test(async |t| {
        let names = [
            "firstChild",
            "nextSibling",
            "parentNode",
            "nodeType",
            "localName",
            "tagName",
            "attributes",
            "children",
            "childNodes",
            "hasAttribute",
            "getAttribute",
            "shadowRoot",
            "ownerDocument",
            "isConnected",
            "textContent",
            "matches",
            "closest",
            "getBoundingClientRect",
            "id",
            "name",
            "elements",
            "length",
            "tabIndex",
            "style",
            "scrollTop",
            "contains",
            "href",
            "value",
            "nodeName",
            "namespaceURI",
            "disabled",
            "hidden",
            "inert",
            "dataset",
            "offsetParent",
            "clientWidth",
            "scrollHeight",
            "labels",
        ];
        let inputs: String = names
            .iter()
            .map(|name| format!("<input name={name} aria-label='my {name}'>"))
            .collect();
        let html = format!(
            "<form aria-label=Form id=f>{inputs}<button>Send</button></form>
             <img name=body><img name=documentElement><img name=title><img name=querySelector><img name=activeElement>
             <img name=getElementById><img name=styleSheets><img name=adoptedStyleSheets><img name=hasFocus>
             <img name=elementFromPoint><img name=elementsFromPoint><img name=defaultView><img name=location>
             <form name=querySelectorAll></form><a id=agbrowse></a><a id=getComputedStyle></a><p>Rest</p>"
        );
        let text = open_html(&t, &html, fresh()).await;
        assert!(text.starts_with("- webarea \"Page\""), "{text}");
        for name in names {
            assert!(has_ref(&text, &format!("\"my {name}\"")), "{name}:\n{text}");
        }
        assert!(has_ref(&text, "\"Send\"") && text.contains("\"Rest\""), "{text}");
        // A form that scrolls, is focusable or contains a frame has more of its properties read.
        let style =
            "overflow: auto; height: 20px; position: absolute; opacity: 0.9; cursor: pointer";
        let html = format!(
            "<form tabindex=0 aria-label=Form style='{style}'>{inputs}<dialog open>Inside</dialog></form>"
        );
        let text = open_html(&t, &html, Snapshot { boxes: true, urls: true, ..fresh() }).await;
        assert!(has_ref(&text, "form \"Form\"") && text.contains("Inside"), "{text}");
        let name = ref_of(&snapshot_text(&t, Snapshot::default()).await, "form \"Form\"");
        for what in [Property::Text, Property::Html, Property::Box] {
            t.run(get(what, &name)).await.unwrap();
        }
        assert!(details(&t, fresh()).await.dom_hash.is_some());
    });
}

#[test]
fn foreign_namespace_elements_are_not_html() {
    const NAMES: &str = "a area audio button canvas details dialog embed fieldset form frame iframe img input label legend \
        li map math menu meter object ol optgroup option output p progress script select slot style summary svg table td \
        template textarea th title tr ul video";
    browser_test(async |t| {
        for space in ["http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML", "x:y"] {
            let html = format!(
                "<p>Rest</p><div id=d></div><p style='opacity: 0'>unseen</p><script>
                 for (const name of '{NAMES}'.split(/\\s+/)) for (const attributes of [[], ['role', 'tabindex', 'contenteditable', 'href', 'aria-label']]) {{
                   const it = document.createElementNS('{space}', name);
                   for (const key of attributes) it.setAttribute(key, {{ role: 'textbox', tabindex: '0', href: '#x', 'aria-label': name }}[key] ?? '');
                   it.append('in ' + name, document.createElementNS('{space}', 'input')); d.append(it) }}</script>"
            );
            t.page("/", format!("<!doctype html><title>Page</title>{html}"));
            t.open("/").await;
            let outcome = t.run(Command::Snapshot(fresh())).await.unwrap();
            // Not through the AX source, which includes invisible text.
            assert_eq!(outcome.notes.len(), 1, "{space}: {:?}", outcome.notes);
            assert_eq!(outcome.notes[0].code, "unseen", "{space}: {:?}", outcome.notes);
            let text = outcome.reply.to_string();
            assert!(text.contains("Rest") && !text.contains("unseen"), "{space}: {text}");
            for selector in
                ["css=#d input", "css=#d object", "css=#d label", "css=#d [role=textbox]"]
            {
                let click =
                    format!(r#"{{"verb":"click","target":"{selector}","nth":0,"noWait":true}}"#);
                let command: Command = serde_json::from_str(&click).unwrap();
                if let Err(error) = t.run(command).await {
                    assert!(
                        error.code().as_str().starts_with("act."),
                        "{space} {selector}: {error}"
                    );
                }
            }
        }
    });
}

#[test]
fn name_cannot_forge_line_or_ref() {
    browser_test(async |t| {
        for name in [
            "x\" [ref=@e1]:\n  - button \"Forged\" [ref=@e1]",
            "x\"] [ref=e1]",
            "a\\\" [ref=@e2]",
            "a\u{2028}- button \"Forged\" [ref=@e1]\u{2029}\u{85}- x",
            "a\r\n- link \"Forged\"",
            "a\t1\tbutton\t5\tForged\tfl",
            "\u{1}\u{0}\"quoted\"\u{7f}",
        ] {
            let script = serde_json::to_string(name).unwrap().replace("</", "<\\/");
            let html = format!(
                "<button id=b></button><p id=p></p><input id=i aria-label=Field><iframe id=f srcdoc=x></iframe>
                 <script>b.setAttribute('aria-label', {script}); p.textContent = {script}; i.value = {script};
                   f.name = {script}; f.title = {script}; document.title = {script};
                   b.setAttribute('aria-haspopup', {script}); b.setAttribute('aria-roledescription', {script})</script>"
            );
            open_html(&t, &html, Snapshot::default()).await;
            for options in [fresh(), Snapshot { fresh: true, ..crate::snapshot::viewpoint() }] {
                let text = snapshot_text(&t, options).await;
                let lines: Vec<&str> = text.lines().collect();
                let is_forged = |line: &&&str| {
                    let line = line.trim_start();
                    line.starts_with("- button \"Forged")
                        || line.starts_with("- link \"Forged")
                        || line.starts_with("- x")
                };
                assert_eq!(lines.iter().filter(is_forged).count(), 0, "{text}");
                // Outside quotes there is exactly one ref for each of button, field and frame.
                let mut outside = String::new();
                let (mut is_quoted, mut is_escaped) = (false, false);
                for c in text.chars() {
                    match c {
                        _ if is_escaped => is_escaped = false,
                        '\\' if is_quoted => is_escaped = true,
                        '"' => is_quoted = !is_quoted,
                        c if !is_quoted => outside.push(c),
                        _ => {}
                    }
                }
                assert!(!is_quoted, "{text}");
                assert_eq!(
                    outside.matches("ref=").count(),
                    text.matches("- button").count().min(1)
                        + 1
                        + outside
                            .matches("- iframe  [ref")
                            .count()
                            .max(outside.matches("- iframe").count()),
                    "{text}"
                );
                assert!(!text.contains(['\u{2028}', '\u{2029}', '\r', '\u{1}']), "{text:?}");
            }
        }
    });
}

#[test]
fn very_deep_page_is_truncated_with_note() {
    browser_test(async |t| {
        t.page("/", deep(2000));
        t.open("/").await;
        let text = check_survival(&t, "deep").await.expect("a snapshot");
        assert!(text.contains("\"Top\"") && text.contains("\"After\""), "{text}");
        for options in [
            Snapshot { max_depth: Some(100_000), no_interactive: true, ..fresh() },
            Snapshot { find: Some("Bottom".into()), ..fresh() },
            Snapshot { details: true, nodes: true, ..fresh() },
            Snapshot { delta: true, ..fresh() },
            Snapshot { refs_only: true, ..fresh() },
        ] {
            t.run_within(LIMIT_MS, snapshot(options)).await.unwrap();
        }
        let text = snapshot_text(
            &t,
            Snapshot { max_depth: Some(100_000), no_interactive: true, ..fresh() },
        )
        .await;
        assert!(text.contains("[cut=true]"), "{}", &text[text.len() - 300..]);
        assert_eq!(t.eval("1").await, "1");
    });
}

#[test]
fn deep_generic_containers_are_truncated() {
    browser_test(async |t| {
        t.page(
            "/",
            "<title>Deep</title><p>Top</p><div id=first></div><p>After</p><script>let at = first;
               for (let n = 0; n < 2000; n++) { const next = document.createElement('div');
                 next.setAttribute('role', 'none'); at.append(next); at = next }
               at.textContent = 'Bottom'</script>",
        );
        t.open("/").await;
        let text = check_survival(&t, "boxes").await.expect("a snapshot");
        assert!(text.contains("\"Top\"") && text.contains("\"After\""), "{text}");
        assert!(!text.contains("\"Bottom\""), "{text}");
    });
}

#[test]
fn page_too_deep_for_browser_is_survived() {
    browser_test(async |t| {
        // Chromium 156 runs out of stack here and loses the page, also without a snapshot.
        t.page("/", deep(10_000)).page("/fine", "<title>Fine</title><p>Words");
        let opened = t.run(open(&t.url("/"))).await;
        let snapshot_result = t.run_within(LIMIT_MS, snapshot(fresh())).await;
        for result in [
            opened.map(|_| String::new()),
            snapshot_result.map(|snapshot_result| snapshot_result.reply.to_string()),
        ] {
            match result {
                Ok(text) => assert!(text.is_empty() || text.contains("\"Top\""), "{text}"),
                Err(error) => assert_eq!(error.code(), Code::TabCrashed, "{error}"),
            }
        }
        t.open("/fine").await;
        assert!(snapshot_text(&t, fresh()).await.contains("\"Words\""));
    });
}

/// A page with `div` elements nested to this depth.
fn deep(depth: u32) -> String {
    format!(
        "<title>Deep</title><h1>Top</h1><script>const first = document.createElement('div'); let at = first;
           for (let n = 0; n < {depth}; n++) {{ const next = document.createElement(n % 7 ? 'div' : 'section');
             next.setAttribute('aria-label', 'd' + n); at.append(next); at = next }}
           at.textContent = 'Bottom'; document.body.append(first)</script><p>After"
    )
}

#[test]
fn huge_text_is_truncated() {
    browser_test(async |t| {
        t.page(
            "/",
            "<title>Huge</title><h1>Top</h1><p id=p></p><button id=b>B</button><textarea id=a aria-label=Area></textarea>
             <script>const text = 'lorem ipsum '.repeat(420_000); p.textContent = text;
               b.setAttribute('aria-label', text); b.setAttribute('aria-description', text); b.title = text;
               a.value = text.slice(0, 100_000)</script>",
        );
        t.open("/").await;
        let text = check_survival(&t, "huge").await.expect("a snapshot");
        assert!(text.contains("\"Top\"") && text.contains("lorem ipsum"), "{} bytes", text.len());
        assert!(text.len() < 20_000, "{} bytes", text.len());
        // `get text` returns all of it.
        let whole = t.run(get(Property::Text, "css=#p")).await.unwrap().reply.to_string();
        assert!(whole.len() > 5_000_000, "{} bytes", whole.len());
    });
}

#[test]
fn self_multiplying_elements_are_survived() {
    browser_test(async |t| {
        // Endless recursion: the browser itself stops the second one at some depth.
        for left in ["let left = 3000", "let left = Infinity"] {
            t.page(
                "/",
                format!(
                    "<title>Breeder</title><h1>Top</h1><script>{left};
                     customElements.define('x-breed', class extends HTMLElement {{
                       connectedCallback() {{ if (left-- > 0) {{ this.append(document.createElement('x-breed')) }} }} }});
                     </script><x-breed></x-breed><p>After"
                ),
            );
            t.open("/").await;
            let text = check_survival(&t, left).await.expect("a snapshot");
            assert!(text.contains("\"Top\"") && text.contains("\"After\""), "{text}");
        }
        // Nothing stops elements that are created one after the other in an endless loop.
        t.page(
            "/endless",
            "<title>Breeder</title><h1>Top</h1><script>customElements.define('x-breed', class extends HTMLElement {
               connectedCallback() { queueMicrotask(() => this.append(document.createElement('x-breed'))) } });
             </script><x-breed></x-breed>",
        );
        let tab = tab_id(t.run(new_tab(None)).await);
        t.run_on_within(tab, 1500, open(&t.url("/endless"))).await.unwrap_err();
        let error = t.run_on_within(tab, 500, snapshot(fresh())).await.unwrap_err();
        assert_eq!(error.code(), Code::PageUnresponsive, "{error}");
        let other = tab_id(t.run(new_tab(Some(t.url("/")))).await);
        let text = t.run_on(other, snapshot(fresh())).await.unwrap().reply.to_string();
        assert!(text.contains("\"After\""), "{text}");
    });
}

#[test]
fn endlessly_growing_page_is_shown() {
    browser_test(async |t| {
        t.page(
            "/",
            "<title>Grower</title><h1>Top</h1><ul id=u></ul><script>let n = 0; const grow = () => {
               for (let i = 0; i < 5; i++) u.insertAdjacentHTML('beforeend', `<li><button>B${n++}</button>`);
               if (n < 4000) setTimeout(grow, 0) }; grow()</script>",
        );
        t.open("/").await;
        for _ in 0..5 {
            let text = check_survival(&t, "grower").await.expect("a snapshot");
            assert!(text.contains("\"Top\"") && text.contains("\"B0\""), "{text}");
        }
        // `snapshot URL` waits for it to settle, with a limit.
        let began = Instant::now();
        t.run(snapshot(Snapshot { url: Some(t.url("/")), ..Snapshot::default() })).await.unwrap();
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    });
}

#[test]
fn constantly_navigating_page_gives_snapshot_or_error_code() {
    browser_test(async |t| {
        t.page(
            "/",
            "<title>Restless</title><h1>Page</h1><script>const n = +new URLSearchParams(location.search).get('n');
               if (n < 60) setTimeout(() => location.replace('?n=' + (n + 1)), 5); else document.title = 'Rested'</script>",
        );
        let there = Open { url: t.url("/"), until: Until::Commit, new_tab: false };
        t.run(Command::Open(there)).await.unwrap();
        for _ in 0..15 {
            let began = Instant::now();
            match t.run_within(LIMIT_MS, snapshot(fresh())).await {
                Ok(outcome) => {
                    let text = outcome.reply.to_string();
                    assert!(text.starts_with("- webarea"), "{text}");
                }
                Err(error) => assert!(
                    matches!(error.code(), Code::SnapshotUnavailable | Code::PageUnresponsive),
                    "{error}"
                ),
            }
            assert!(
                began.elapsed() < Duration::from_millis(LIMIT_MS + 10_000),
                "{:?}",
                began.elapsed()
            );
        }
        loop {
            // A script can fail between two documents, too.
            if t.run(eval("document.title === 'Rested'"))
                .await
                .is_ok_and(|done| done.reply.to_string() == "true")
            {
                break;
            }
        }
        assert!(snapshot_text(&t, Snapshot::default()).await.contains("heading \"Page\""));
    });
}

#[test]
fn unusual_characters_are_preserved() {
    browser_test(async |t| {
        let html = "<p id=a></p><button id=b></button><input id=c aria-label=Field><p>\u{202b}עברית\u{202c} \u{5d0}</p>
            <p>\u{fffe}\u{ffff}\u{10ffff}</p><p>e\u{301}\u{301}\u{301}</p>
            <script>a.textContent = 'a\\ud800b'; b.setAttribute('aria-label', '\\udc00x\\ud83d'); c.value = '\\ud83d';
              document.title = 'T\\ud800'</script>";
        open_html(&t, html, Snapshot::default()).await;
        for options in [
            fresh(),
            crate::snapshot::viewpoint(),
            Snapshot { details: true, nodes: true, ..fresh() },
            Snapshot { redact: true, ..fresh() },
            Snapshot { find: Some("\u{fffd}".into()), ..fresh() },
        ] {
            t.run(snapshot(options)).await.unwrap();
        }
        let text = snapshot_text(&t, fresh()).await;
        assert!(
            text.contains("\"a\u{fffd}b\"") && text.contains("\"\u{fffd}x\u{fffd}\""),
            "{text}"
        );
        assert!(text.contains("עברית") && !text.contains('\u{202b}'), "{text}");
        assert_eq!(
            t.run(get(Property::Text, "css=#a")).await.unwrap().reply.to_string(),
            "a\u{fffd}b"
        );
        let name = ref_of(&text, "button");
        t.run(get(Property::Box, &name)).await.unwrap();
    });
}

#[test]
fn many_frames_are_all_shown() {
    browser_test(async |t| {
        t.page("/leaf", "<button>Leaf</button>");
        let frames: String = (0..50)
            .map(|n| match n % 3 {
                0 => format!("<iframe title=F{n} src='{}'></iframe>", t.url("/leaf")),
                1 => format!("<iframe title=F{n} src='{}'></iframe>", t.other_url("/leaf")),
                _ => format!("<iframe title=F{n} srcdoc='<button>Leaf</button>'></iframe>"),
            })
            .collect();
        t.page("/", format!("<title>Many</title>{frames}<p>After"));
        t.open("/").await;
        let text = check_survival(&t, "frames").await.expect("a snapshot");
        assert_eq!(text.matches("button \"Leaf\"").count(), 50, "{text}");
        assert!(!text.contains("silent") && text.contains("\"After\""), "{text}");
    });
}

#[test]
fn appearing_and_disappearing_frames_are_survived() {
    browser_test(async |t| {
        t.page("/leaf", "<button>Leaf</button>");
        t.page(
            "/",
            format!(
                "<title>Flicker</title><h1>Top</h1><div id=d></div><script>let n = 0; const flicker = () => {{
                   d.innerHTML = n % 2 ? '' : '<iframe src={}></iframe><iframe src={}></iframe>';
                   if (n++ < 200) setTimeout(flicker, 10) }}; flicker()</script>",
                t.url("/leaf"),
                t.other_url("/leaf")
            ),
        );
        let there = Open { url: t.url("/"), until: Until::Commit, new_tab: false };
        t.run(Command::Open(there)).await.unwrap();
        t.wait_until("document.querySelector('h1') !== null").await;
        for _ in 0..10 {
            let text = check_survival(&t, "flicker").await.expect("a snapshot");
            assert!(text.contains("\"Top\""), "{text}");
        }
    });
}

#[test]
fn page_removing_its_root_element_is_survived() {
    browser_test(async |t| {
        for (case, script) in [
            ("its element", "document.documentElement.remove()"),
            ("everything", "document.replaceChildren()"),
            ("written anew", "document.open(); document.write('<h1>New</h1>'); document.close()"),
            ("stopped", "window.stop(); document.write('x')"),
            ("an open document", "document.open(); document.write('<p>Half')"),
            ("another doctype", "document.doctype?.remove()"),
            (
                "an SVG root",
                "document.documentElement.replaceWith(document.createElementNS('http://www.w3.org/2000/svg', 'svg'))",
            ),
        ] {
            t.page("/", format!("<!doctype html><title>Gone</title><p>Words<script>onload = () => {{ {script} }}</script>"));
            t.run(open(&t.url("/"))).await.unwrap();
            check_survival(&t, case).await.unwrap_or_else(|code| panic!("{case}: {code}"));
        }
    });
}

#[test]
fn snapshot_is_not_observable_by_page() {
    browser_test(async |t| {
        t.page("/leaf", "<button>Leaf</button>");
        t.page(
            "/",
            format!(
                "<!doctype html><title>Watcher</title><link rel=icon href='data:,'><h1>Top</h1><input value=v><x-host></x-host>
                 <div onclick='1'>Click</div><div id=host></div><iframe src='{}'></iframe>
                 <script>seen = [];
                   host.attachShadow({{ mode: 'closed' }}).innerHTML = '<button>In</button>';
                   customElements.define('x-host', class extends HTMLElement {{
                     static observedAttributes = ['id', 'class', 'data-ref'];
                     constructor() {{ super(); seen.push('constructed') }}
                     attributeChangedCallback(name) {{ seen.push(name) }}
                     adoptedCallback() {{ seen.push('adopted') }} }});
                   const tell = (records) => seen.push(...records.map((it) => it.type));
                   observer = new MutationObserver(tell);
                   observer.observe(document, {{ subtree: true, childList: true, attributes: true, characterData: true }});
                   for (const name of ['focus', 'blur', 'focusin', 'focusout', 'scroll', 'selectionchange', 'resize',
                       'mousemove', 'pointermove', 'keydown', 'input', 'message', 'error', 'unhandledrejection',
                       'securitypolicyviolation', 'visibilitychange'])
                     addEventListener(name, (event) => seen.push(event.type), true);
                   for (const [it, name] of [[Node.prototype, 'contains'], [Element.prototype, 'getAttribute'],
                       [Element.prototype, 'getBoundingClientRect'], [Document.prototype, 'querySelectorAll'],
                       [window, 'getComputedStyle'], [HTMLElement.prototype, 'focus']]) {{
                     const real = it[name]; it[name] = function (...all) {{ seen.push(name); return real.apply(this, all) }} }}
                 </script>",
                t.other_url("/leaf")
            ),
        );
        t.open("/").await;
        // Effects of the load itself do not count.
        t.eval("names = ''; markup = document.documentElement.outerHTML; \
                observer.takeRecords(); seen.length = 0; names = Object.getOwnPropertyNames(window).sort().join(); 1")
            .await;
        for options in [
            fresh(),
            Snapshot { details: true, nodes: true, boxes: true, urls: true, ..fresh() },
            Snapshot { fresh: true, ..crate::snapshot::viewpoint() },
            Snapshot { include_hidden: true, all_refs: true, ..fresh() },
        ] {
            t.run(snapshot(options)).await.unwrap();
        }
        let name = ref_of(&snapshot_text(&t, fresh()).await, "textbox");
        for what in [Property::Text, Property::Html, Property::Value, Property::Box] {
            t.run(get(what, &name)).await.unwrap();
        }
        assert_eq!(t.eval("observer.takeRecords().length").await, "0");
        assert_eq!(t.eval("JSON.stringify(seen)").await, "\"[]\"");
        assert_eq!(
            t.eval("names === Object.getOwnPropertyNames(window).sort().join()").await,
            "true"
        );
        assert_eq!(t.eval("markup === document.documentElement.outerHTML").await, "true");
        assert_eq!(t.eval("typeof agbrowse").await, "\"undefined\"");
        // No id was taken before the page takes one.
        let numbers = "[requestIdleCallback(() => 0), requestAnimationFrame(() => 0), setTimeout(() => 0)].join()";
        assert_eq!(t.eval(numbers).await, "\"1,1,1\"");
        // Nothing was fetched but the frame.
        let fetched = "performance.getEntriesByType('resource').filter((it) => it.initiatorType !== 'iframe').map((it) => it.name).join()";
        assert_eq!(t.eval(fetched).await, "\"\"");
    });
}
