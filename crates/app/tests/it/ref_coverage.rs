//! Ref coverage: every visible element that, according to the browser,
//! is focusable or has a click listener has a ref. On real pages, the demo, and widget pages.

use crate::fidelity::{PageVisit, browser, name_of, pages_for, runtime, serve};
use agbrowse::demo::Site;
use browser::Reachability;

/// An exception and its reason.
struct Rule {
    reason: &'static str,
    applies: fn(&Reachability) -> bool,
}

const RULES: &[Rule] = &[
    Rule {
        reason: "a root with a delegated listener is not a click target",
        applies: |it| it.is_root && !it.is_focusable,
    },
    Rule { reason: "`aria-hidden` content is never shown", applies: |it| it.is_aria_hidden },
];

#[test]
fn everything_one_can_use_has_a_ref() {
    let Some(browser) = browser() else { return };
    runtime().block_on(async {
        let pages = pages_for(1);
        let origin = serve(&pages).await;
        let site = Site::serve().await.unwrap();
        let widgets = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/widgets.html").into();
        let own = serve(&[widgets]).await;
        let mut stops: Vec<PageVisit> =
            pages.iter().map(|page| PageVisit::at(format!("{origin}/{}", name_of(page)))).collect();
        stops.push(PageVisit::at(format!("{own}/widgets.html")));
        stops.extend(PageVisit::tour(&site));
        let mut missing = Vec::new();
        let mut ruled = vec![0; RULES.len()];
        let (mut all, mut listening, mut deep) = (0, 0, 0);
        for stop in &stops {
            let url = &stop.url;
            stop.visit(&browser).await;
            for it in browser.reachable().await.unwrap() {
                all += 1;
                listening += usize::from(it.listens);
                if it.has_ref {
                    deep += usize::from(!it.is_shown);
                    continue;
                }
                match RULES.iter().position(|rule| (rule.applies)(&it)) {
                    Some(rule) => ruled[rule] += 1,
                    None => missing.push(format!(
                        "{url}: {}{}{}",
                        if it.is_focusable { "focusable " } else { "" },
                        if it.listens { "listens " } else { "" },
                        it.markup
                    )),
                }
            }
        }
        println!("{all} usable elements, {listening} of them with a click listener");
        println!("{deep} are beyond the default depth of a snapshot");
        for (rule, count) in RULES.iter().zip(ruled) {
            println!("{count} excluded: {}", rule.reason);
        }
        assert!(missing.is_empty(), "{} without a ref:\n{}", missing.len(), missing.join("\n"));
        // That depth is enough, because generic containers do not count.
        assert!(deep * 100 <= all, "{deep} of {all} are missing in a default snapshot");
        // The test pages have fewer elements than real ones.
        let (min_all, min_listening) =
            if pages.is_empty() { (100, 10) } else { (25 * stops.len(), 20) };
        assert!(all > min_all && listening > min_listening, "too few elements were checked");
        browser.close().await;
    });
}
