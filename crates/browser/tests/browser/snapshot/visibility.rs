//! Visibility of elements, shadow trees and frames.

use super::{check, snapshot_text};
use crate::harness::browser_test;
use agbrowse_browser::command::Snapshot;

#[test]
fn shadow_trees_are_shown_in_flat_tree_order() {
    browser_test(async |t| {
        check(
            &t,
            &[
                (
                    "open",
                    "<div><template shadowrootmode=open><button>Inside</button></template></div>",
                    "  - button \"Inside\" [ref=@e1]",
                ),
                (
                    "closed",
                    "<div><template shadowrootmode=closed><button>Inside</button></template></div>",
                    "  - button \"Inside\" [ref=@e1]",
                ),
                (
                    "closed, attached by a script",
                    "<x-host id=h></x-host><script>h.attachShadow({ mode: 'closed' }).innerHTML = \
                     '<button>Inside</button>'</script>",
                    "  - button \"Inside\" [ref=@e1]",
                ),
                (
                    "closed in closed",
                    "<div><template shadowrootmode=closed><p><template shadowrootmode=closed><button>Inside\
                     </button></template></p></template></div>",
                    "  - button \"Inside\" [ref=@e1]",
                ),
                (
                    "slots, in the order of the slots",
                    "<div><template shadowrootmode=open><slot name=b></slot><h2>Between</h2><slot></slot>\
                     <slot name=c>Fallback</slot></template><i>Second</i><b slot=b>First</b></div>",
                    "  - text: \"First\"\n  - heading \"Between\" [level=2]\n  - text: \"Second\"\n  \
                     - text: \"Fallback\"",
                ),
                (
                    "slots of a closed tree",
                    "<x-host><template shadowrootmode=closed><slot name=b></slot><h2>Between</h2></template>\
                     <b slot=b>First</b><i>Without a slot</i></x-host>",
                    "  - text: \"First\"\n  - heading \"Between\" [level=2]",
                ),
                (
                    "a name from a slot",
                    "<div><template shadowrootmode=open><button><slot></slot></button></template>Save</div>",
                    "  - button \"Save\" [ref=@e1]",
                ),
            ],
        )
        .await;
    });
}

#[test]
fn content_written_into_empty_frame_is_shown() {
    browser_test(async |t| {
        t.page("/framed", "<p>From elsewhere</p>");
        t.page(
            "/",
            "<h1>Frames</h1><iframe id=f title=Frame></iframe><iframe title=Other srcdoc='<!-- nothing -->'></iframe>
             <script>const late = (what, ms = 30) => setTimeout(what, ms)</script>",
        );
        for (how, words) in [
            ("f.contentDocument.body.append('Appended')", "Appended"),
            ("f.contentDocument.body.innerHTML = '<button>Put in</button>'", "button \"Put in\""),
            ("f.contentDocument.write('<p>Written'); f.contentDocument.close()", "Written"),
            ("f.src = 'framed'", "From elsewhere"),
            ("f.srcdoc = '<button>From here</button>'", "button \"From here\""),
            ("f.contentDocument.title = 'Named'", "Named"),
            (
                "f.contentDocument.body.attachShadow({ mode: 'open' }).innerHTML = '<b>Shadow</b>'; \
                 f.contentDocument.body.id = 'x'",
                "Shadow",
            ),
        ] {
            t.open("/").await;
            let before = snapshot_text(&t, Snapshot::default()).await;
            assert!(before.contains("iframe \"Frame\"") && !before.contains(words), "{before}");
            // By the page itself, without a command.
            t.eval(&format!("late(() => {{ {how} }})")).await;
            let wait = format!(r#"{{"verb":"wait","text":{:?}}}"#, words.trim_matches('"'));
            let wait = wait.replace("button \\\"", "").replace("\\\"", "");
            if words != "Named" {
                // Before the cache expires.
                let waited = t.run_within(3000, serde_json::from_str(&wait).unwrap()).await;
                let text = snapshot_text(&t, Snapshot::default()).await;
                assert!(waited.is_ok(), "{how}: {text}");
            } else {
                t.wait_until("f.contentDocument.title === 'Named'").await;
            }
            let after = snapshot_text(&t, Snapshot::default()).await;
            assert!(after.contains(words), "{how}: {after}");
            assert_eq!(
                after,
                snapshot_text(&t, Snapshot { fresh: true, ..Snapshot::default() }).await,
                "{how}"
            );
        }
    });
}

#[test]
fn late_shadow_root_is_shown() {
    browser_test(async |t| {
        t.page(
            "/",
            "<h1>Roots</h1><div id=early></div><div id=late></div><x-late id=own>Words</x-late><script>
             const attach = (host, mode, style) => host.attachShadow({ mode }).innerHTML =
               `<button style='${style}'>In ${host.id}</button>`;
             addEventListener('load', () => attach(early, 'closed', 'position: fixed'));
             </script>",
        );
        t.open("/").await;
        let first = snapshot_text(&t, Snapshot::default()).await;
        assert!(first.contains("button \"In early\""), "{first}");
        for mode in ["open", "closed"] {
            t.open("/").await;
            let before = snapshot_text(&t, Snapshot::default()).await;
            assert!(!before.contains("In late") && before.contains("Words"), "{before}");
            // Neither causes a mutation of the document tree.
            t.eval(&format!("attach(late, '{mode}', 'position: fixed')")).await;
            t.eval(&format!("attach(own, '{mode}', '')")).await;
            let after = snapshot_text(&t, Snapshot::default()).await;
            assert!(after.contains("button \"In late\""), "{mode}: {after}");
            assert!(
                after.contains("button \"In own\"") && !after.contains("Words"),
                "{mode}: {after}"
            );
            assert_eq!(
                after,
                snapshot_text(&t, Snapshot { fresh: true, ..Snapshot::default() }).await
            );
        }
    });
}

#[test]
fn late_shadow_root_among_many_hosts_is_shown() {
    browser_test(async |t| {
        t.page(
            "/",
            "<h1>Roots</h1><script>for (let n = 0; n < 250; n++) document.body.append(document.createElement('div'));
             const attach = (n) => document.querySelectorAll('div')[n].attachShadow({ mode: 'closed' }).innerHTML =
               `<button style='position: fixed'>In ${n}</button>`;</script>",
        );
        for number in [0, 120, 249] {
            t.open("/").await;
            snapshot_text(&t, Snapshot::default()).await;
            t.eval(&format!("attach({number})")).await;
            let expected = format!("button \"In {number}\"");
            let text = snapshot_text(&t, Snapshot { fresh: true, ..Snapshot::default() }).await;
            assert!(text.contains(&expected), "{expected} in a fresh one:\n{text}");
        }
        t.open("/").await;
        snapshot_text(&t, Snapshot::default()).await;
        t.eval("attach(120)").await;
        let mut looks = 0;
        loop {
            looks += 1;
            // A change that invalidates the cache.
            t.eval(&format!("document.querySelector('h1').textContent = 'Look {looks}'")).await;
            let text = snapshot_text(&t, Snapshot::default()).await;
            assert!(text.contains(&format!("Look {looks}")), "{text}");
            if text.contains("button \"In 120\"") {
                break;
            }
            // All 250 hosts have been checked by then.
            assert!(looks < 3, "after {looks} looks:\n{text}");
        }
    });
}

#[test]
fn only_usable_and_readable_content_is_shown() {
    browser_test(async |t| {
        check(
            &t,
            &[
                (
                    "a modal dialog hides the rest",
                    "<button>Behind</button><dialog id=d aria-label=Ask><button>Yes</button></dialog>\
                     <script>d.showModal()</script>",
                    "  - dialog \"Ask\" [ref=@e1]:\n    - button \"Yes\" [ref=@e2]",
                ),
                (
                    "a dialog that is not modal does not",
                    "<button>Behind</button><dialog id=d aria-label=Ask open><button>Yes</button></dialog>",
                    "  - button \"Behind\" [ref=@e1]\n  - dialog \"Ask\" [ref=@e2]:\n    - button \"Yes\" [ref=@e3]",
                ),
                ("a closed dialog", "<dialog><button>Yes</button></dialog><p>Rest</p>", "  - text: \"Rest\""),
                ("inert", "<div inert><button>Off</button></div><button>On</button>", "  - button \"On\" [ref=@e1]"),
                ("a closed popover", "<div popover><button>In it</button></div><p>Rest</p>", "  - text: \"Rest\""),
                (
                    "an open popover",
                    "<div popover id=p><button>In it</button></div><script>p.showPopover()</script>",
                    "  - button \"In it\" [ref=@e1]",
                ),
                (
                    "closed details",
                    "<details><summary>More</summary><button>In it</button></details>",
                    "  - disclosuretriangle \"More\" [ref=@e1 expanded=false]",
                ),
                (
                    "open details",
                    "<details open><summary>More</summary><button>In it</button></details>",
                    "  - disclosuretriangle \"More\" [ref=@e1 expanded=true]\n  - button \"In it\" [ref=@e2]",
                ),
                (
                    "display: contents",
                    "<div style='display: contents'><button style='display: contents'>Flat</button></div>",
                    "  - button \"Flat\" [ref=@e1]",
                ),
                (
                    "content-visibility: hidden",
                    "<div style='content-visibility: hidden'><button>Skipped</button></div><p>Rest</p>",
                    "  - text: \"Rest\"",
                ),
                (
                    "content-visibility: auto, out of view",
                    "<div style='height: 9000px'></div><div style='content-visibility: auto'><button>Later</button></div>",
                    "  - button \"Later\" [ref=@e1]",
                ),
                ("display: none", "<div style='display: none'>Gone</div><p>Rest</p>", "  - text: \"Rest\""),
                (
                    "visibility: hidden, and visible again inside",
                    "<div style='visibility: hidden'>Gone<p style='visibility: visible'>Back</p></div>",
                    "  - text: \"Back\"",
                ),
                ("aria-hidden", "<div aria-hidden=true><button>Gone</button></div><p>Rest</p>", "  - text: \"Rest\""),
                ("hidden", "<div hidden><button>Gone</button></div><p>Rest</p>", "  - text: \"Rest\""),
            ],
        )
        .await;
    });
}
