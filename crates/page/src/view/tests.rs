use super::*;
use crate::ax::testing::tree;
use crate::render::{render_cli, render_with_refs};
use crate::tokens::calibrated;
use proptest::prelude::*;

fn render(tree: &Tree, options: &ViewOptions) -> (View, String) {
    let mut numbers = SequentialRefs::default();
    let view = view(tree, options, &mut |frame, element| numbers.number(frame, element));
    let text = render_cli(tree, &view, &options.print);
    (view, text)
}

fn check(page: &str, options: &ViewOptions, expected: &str) -> View {
    let (view, text) = render(&tree(page), options);
    assert_eq!(text, expected, "{page}");
    view
}

const PAGE: &str = "webarea 1 \"T\"\n generic 2\n  heading 3 \"Top\"\n  list 4\n   listitem 5\n    \
    link 6 \"One\" ff\n     text \"One\"\n   listitem 7\n    link 8 \"Two\" ff\n     text \"Two\"\n  \
    paragraph 9\n   text \"Words\"\n  generic 10 fl\n   text \"Click me\"\n   text \"twice\"";

fn live() -> ViewOptions {
    ViewOptions { policy: RefPolicy::Live { all: false }, ..ViewOptions::default() }
}

#[test]
fn interesting_part_is_shown() {
    check(
        PAGE,
        &live(),
        "- webarea \"T\":\n  - heading \"Top\"\n  - link \"One\" [ref=@e1]\n  - link \"Two\" [ref=@e2]\n  \
         - text: \"Words\"\n  - generic [ref=@e3]:\n    - text: \"Click me\"\n    - text: \"twice\"",
    );
}

#[test]
fn non_interactive_view_shows_everything() {
    let page = "webarea 1\n generic 2\n  paragraph 9\n   text \"Words\"\n  link 3 \"One\"\n   text \"One\"\n   text \" \"";
    let options = ViewOptions { interactive: false, ..live() };
    check(
        page,
        &options,
        "- webarea:\n  - generic:\n    - paragraph: \"Words\"\n    - link \"One\" [ref=@e1]:\n      \
         - text: \"One\"",
    );
    check(
        page,
        &ViewOptions { skip_repeated: true, ..options.clone() },
        "- webarea:\n  - generic:\n    - paragraph: \"Words\"\n    - link \"One\" [ref=@e1]",
    );
    check(
        page,
        &ViewOptions { compact: false, max_depth: 2, ..options },
        "- webarea:\n  - generic:\n    - paragraph:\n    - link \"One\" [ref=@e1]:",
    );
}

#[test]
fn nodes_below_the_depth_limit_are_counted() {
    let page = "webarea 1\n dialog 2\n  dialog 3\n   button 4\n   link 5\n    text \"in line\"\n  link 6\n   text \"a\"";
    let view = check(
        page,
        &ViewOptions { max_depth: 2, ..live() },
        "- webarea:\n  - dialog:\n    - dialog:\n    - link: \"a\" [ref=@e1]",
    );
    assert_eq!(view.cut, Omitted { nodes: 3, refs: 2 });
    assert_eq!(view.notes(), ["3 nodes with 2 refs lie deeper and are not shown: `--max-depth 4`"]);
}

#[test]
fn root_option_starts_at_depth_0() {
    let options = ViewOptions { root: Some(3), ..live() };
    check(PAGE, &options, "- list:\n  - link \"One\" [ref=@e1]\n  - link \"Two\" [ref=@e2]");
    check(PAGE, &ViewOptions { root: Some(5), ..live() }, "- link \"One\" [ref=@e1]");
    check("webarea 1", &ViewOptions { root: Some(77), ..live() }, "- webarea");
}

#[test]
fn refs_only_is_a_flat_list() {
    let options = ViewOptions { refs_only: true, max_depth: 0, ..live() };
    check(
        PAGE,
        &options,
        "- link \"One\" [ref=@e1]\n- link \"Two\" [ref=@e2]\n- generic: \"Click me\" [ref=@e3]",
    );
}

#[test]
fn search_shows_matches_and_their_ancestors() {
    let find = |text: &str| ViewOptions { find: Some(text.to_owned()), max_depth: 0, ..live() };
    let view = check(
        PAGE,
        &find("CLICK  me"),
        "- webarea \"T\":\n  - generic [ref=@e1]:\n    - text: \"Click me\"",
    );
    assert_eq!(view.matches, Some(1));
    let view = check(
        PAGE,
        &find("o"),
        "- webarea \"T\":\n  - heading \"Top\"\n  - link \"One\" [ref=@e1]\n  - link \"Two\" [ref=@e2]\n  \
         - text: \"Words\"",
    );
    assert_eq!(view.matches, Some(4));
    let view = check(PAGE, &find("nowhere"), "nothing found");
    assert_eq!(view.matches, Some(0));
    check("webarea 1", &ViewOptions { refs_only: true, ..live() }, "- document");
    let flat =
        ViewOptions { print: RenderOptions { flat: true, ..RenderOptions::default() }, ..live() };
    check("webarea 1", &ViewOptions { refs_only: true, ..flat }, "nothing to act on");
}

/// Cards with a name and two controls whose names repeat in each.
fn shop(cards: u32) -> Tree {
    let mut page = String::from("webarea 1\n heading 2 \"Shop\" l1\n main 3");
    for card in 0..cards {
        let element = 10 + 10 * card;
        page.push_str(&format!(
            "\n  . {element}\n   heading {} \"Product {card}\" l3\n    text \"Product {card}\"\n   link {} \"Details\" ff\n   button {} \"Add\" ff",
            element + 1,
            element + 2,
            element + 3,
        ));
    }
    tree(&page)
}

#[test]
fn search_shows_the_controls_of_the_same_item() {
    let find = ViewOptions { find: Some("product 7".into()), ..live() };
    let (view, text) = render(&shop(9), &find);
    assert_eq!(
        text,
        "- webarea:\n  - heading \"Product 7\" [level=3]\n  - link \"Details\" [ref=@e1]\n  - button \"Add\" [ref=@e2]"
    );
    assert_eq!(view.matches, Some(1));
}

#[test]
fn of_many_items_a_few_are_shown_whole() {
    let (_, text) = render(&shop(1000), &ViewOptions { budget: Some(1000), ..live() });
    let count = |words: &str| text.matches(words).count();
    assert!(count("\"Product ") > 10, "{text}");
    assert!(count("\"Product ").abs_diff(count("\"Add\"")) <= 1, "{text}");
    assert!(calibrated(&text) <= 1000, "{text}");
}

#[test]
fn ambiguous_names_get_an_item_label_once() {
    let print = RenderOptions { flat: true, ..RenderOptions::default() };
    let options = ViewOptions { refs_only: true, print, ..live() };
    let (_, text) = render(&shop(2), &options);
    assert_eq!(
        text,
        "@e1 link \"Details\" in \"Product 0\"\n@e2 button \"Add\"\n@e3 link \"Details\" in \"Product 1\"\n@e4 button \"Add\""
    );
    // An unambiguous name before it labels the item.
    let own = "webarea 1\n list 2\n  listitem 3\n   link 4 \"Ann\" ff\n   button 5 \"Call\" ff\n  listitem 6\n   link 7 \"Bob\" ff\n   button 8 \"Call\" ff";
    let (_, text) = render(&tree(own), &options);
    assert!(!text.contains(" in "), "{text}");
}

#[test]
fn options_of_a_closed_list_are_counted() {
    let print = RenderOptions { flat: true, ..RenderOptions::default() };
    let options = ViewOptions { refs_only: true, print, ..live() };
    let page = |list: &str| {
        let mut page = format!("webarea 1\n {list} 2 \"Land\" ff");
        for option in 0..250 {
            page.push_str(&format!("\n  option {} \"Land {option}\"", 10 + option));
        }
        tree(&page)
    };
    let (view, text) = render(&page("combobox"), &options);
    assert!(
        text.ends_with("\n@e6 option \"Land 4\"\n- … 245 more options: select @e1 LABEL"),
        "{text}"
    );
    assert_eq!((view.refs, view.options), (6, 245));
    // Options of a visible list can be clicked.
    assert_eq!(render(&page("listbox"), &options).1.matches("option").count(), 250);
}

/// A page with a long list, some text and two important buttons.
fn long_page() -> Tree {
    let mut page =
        String::from("webarea 1\n heading 2 \"Results\" l1\n button 3 \"Filter\"\n list 4");
    for item in 0..300 {
        let element = 10 + 2 * item;
        page.push_str(&format!(
            "\n  listitem {element}\n   link {} \"Result number {item}\"\n   text \"What it says about {item}\"",
            element + 1
        ));
    }
    page.push_str("\n contentinfo 1000");
    for text in 0..30 {
        page.push_str(&format!("\n  text \"Small print {text}\""));
    }
    page.push_str("\n button 1001 \"Next page\"");
    tree(&page)
}

#[test]
fn budget_folds_the_least_useful_lines() {
    let page = long_page();
    for budget in [60, 200, 600, 2000, 6000] {
        let options = ViewOptions { budget: Some(budget), ..live() };
        let (view, text) = render(&page, &options);
        assert!(calibrated(&text) <= budget, "{budget}: {}", calibrated(&text));
        // Little of the budget is unspent, and every omission is counted.
        assert!(
            budget < 200 || calibrated(&text) > budget * 8 / 10,
            "{budget}: {}",
            calibrated(&text)
        );
        let (all, _) = render(&page, &live());
        assert_eq!(view.node_count() + view.folded.nodes, all.node_count());
        assert_eq!(view.refs + view.folded.refs, all.refs);
        if budget > 60 {
            for line in ["\"Results\"", "\"Filter\"", "\"Next page\"", "Result number 0"] {
                assert!(text.contains(line), "{budget} {line}: {text}");
            }
            // The list can be unfolded by itself.
            let folds = view.lines.iter().filter(|line| line.folded.is_some());
            let nodes: Vec<_> = folds.map(|line| page.nodes[line.node as usize].element).collect();
            assert!(nodes.contains(&4), "{text}");
        }
    }
    let (_, text) = render(&page, &ViewOptions { budget: Some(1_000_000), ..live() });
    assert_eq!(text, render(&page, &live()).1);
}

#[test]
fn fold_markers_are_where_the_lines_were() {
    let mut page = String::from("webarea 1\n heading 2 \"A\"\n button 3 \"B\"\n region 4");
    for text in 0..40 {
        page.push_str(&format!("\n  text \"This is number {text} of many\""));
    }
    page.push_str("\n button 5 \"C\"");
    let options = ViewOptions { budget: Some(60), ..live() };
    let view = check(
        &page,
        &options,
        "- webarea:\n  - heading \"A\"\n  - button \"B\" [ref=@e1]\n  - … 40 more, 0 refs, in @e2\n  \
         - button \"C\" [ref=@e3]",
    );
    assert_eq!((view.refs, view.folded), (2, Omitted { nodes: 40, refs: 0 }));
    let how =
        "40 nodes with 0 refs are folded to keep to the budget: `--root @e2` unfolds the first";
    assert_eq!(view.notes(), [how]);
    let (view, text) = render(&tree(&page), &ViewOptions { budget: Some(3), ..live() });
    assert!(calibrated(&text) > 3);
    assert_eq!(
        view.notes().last().unwrap(),
        "3 tokens are too few: this is the shortest possible text"
    );
    assert!(render(&tree("webarea 1 \"T\""), &live()).0.is_empty_page());
    assert!(!render(&tree("webarea 1\n button 2"), &live()).0.is_empty_page());
}

#[test]
fn frame_owner_shows_the_origin_of_its_document() {
    let mut page = Tree::default();
    let frame = |origin: &str| crate::ax::Frame { origin: origin.into(), ..Default::default() };
    page.frames.extend([frame("https://a"), frame("https://b")]);
    for (role, depth, element, of) in [
        (Role::WebArea, 0, 1, 0),
        (Role::PluginObject, 1, 2, 0),
        (Role::WebArea, 2, 1, 1),
        (Role::Button, 3, 2, 1),
        (Role::EmbeddedObject, 1, 3, 0),
        (Role::Iframe, 1, 4, 0),
    ] {
        page.push(role, depth, element, of);
    }
    page.add_silent_frame(frame("https://c"));
    page.finish();
    let (_, text) = render(&page, &live());
    assert_eq!(
        text,
        "- webarea:\n  - pluginobject [frame=\"https://b\"]:\n    - webarea:\n      \
         - button [ref=@e1]\n  - iframe [frame=\"https://c\" silent=true]"
    );
    assert_eq!(page.silent_frames(false), ["https://c"]);
    assert_eq!((page.frames.len(), page.frames[2].silent), (3, true));
}

#[test]
fn very_deep_page_is_rendered() {
    let mut page = Tree::default();
    page.frames.push(crate::ax::Frame::default());
    for depth in 0..10_000 {
        let role = if depth % 2 == 1 { Role::Button } else { Role::Generic };
        page.push(role, depth, depth + 1, 0);
    }
    page.finish();
    for interactive in [true, false] {
        for budget in [None, Some(500)] {
            let options = ViewOptions { interactive, budget, max_depth: 200, ..live() };
            let (view, _) = render(&page, &options);
            assert!(view.cut.refs > 4_000);
            let options = ViewOptions { refs_only: true, ..options };
            assert_eq!(
                render(&page, &options).0.refs + render(&page, &options).0.folded.refs,
                5_000
            );
        }
    }
    let same = crate::refs::resolve(&page, 9_999, &page, &std::collections::HashSet::new());
    assert!(matches!(same, crate::refs::Resolution::Same { node: 9_999, .. }), "{same:?}");
}

#[test]
fn unfinished_trees_are_rendered() {
    let mut page = tree(PAGE);
    for node in &mut page.nodes {
        node.end = 0;
    }
    render(&page, &live());
    for node in &mut page.nodes {
        node.end = 9;
    }
    render(&page, &live());
    render(&Tree::default(), &ViewOptions { budget: Some(1), root: Some(3), ..live() });
}

/// Arbitrary trees: depths that jump, several roots, missing frames.
fn any_tree() -> impl Strategy<Value = Tree> {
    let names = prop::sample::select(vec![
        "",
        " ",
        "OK",
        "Delete 3",
        "[ref=@e1]",
        "\" [ref=@e2]:",
        "a\n- button \"x\" [ref=@e3]",
        "日本語",
        "12:03",
        "Sign in",
        "… 3 more, 1 refs",
    ]);
    let node =
        (0..Role::ALL.len(), 0_u32..9, 0_u16..3, names.clone(), names, "[dsfFmtepLlqbgchy]{0,4}");
    prop::collection::vec(node, 0..120).prop_map(|nodes| {
        let mut tree = Tree::default();
        tree.frames = vec![crate::ax::Frame::default(), crate::ax::Frame::default()];
        for (element, (role, depth, frame, name, value, states)) in nodes.into_iter().enumerate() {
            // Half of all nodes have one of the most common roles.
            let role = if role % 2 == 0 { role / 2 % 20 } else { role };
            let report =
                format!("1\n{depth}\t{}\t{}\t\tf{states}\n", Role::ALL[role].name(), element + 1);
            tree.add_report(&report, 0, frame).unwrap();
            let index = tree.nodes.len() - 1;
            tree.nodes[index].name = tree.intern_masked(name);
            tree.nodes[index].value = tree.intern_masked(value);
        }
        tree.finish();
        tree
    })
}

fn any_options() -> impl Strategy<Value = ViewOptions> {
    let policy = prop::sample::select(vec![
        RefPolicy::WebAi,
        RefPolicy::Live { all: false },
        RefPolicy::Live { all: true },
    ]);
    let flags = any::<[bool; 4]>();
    let root = prop::option::of(0_usize..130);
    let find = prop::option::weighted(0.2, Just("i".to_owned()));
    let budget = prop::option::weighted(0.3, 0_u32..600);
    (policy, flags, 0_u32..8, root, find, budget).prop_map(
        |(
            policy,
            [interactive, compact, skip_repeated, refs_only],
            max_depth,
            root,
            find,
            budget,
        )| {
            let print = RenderOptions::default();
            ViewOptions {
                policy,
                interactive,
                compact,
                skip_repeated,
                max_depth,
                root,
                refs_only,
                find,
                budget,
                print,
            }
        },
    )
}

/// The numbers in `[ref=@e…]` outside of quotes, line by line.
fn refs_in(text: &str) -> Vec<u32> {
    let mut refs = Vec::new();
    for line in text.lines() {
        let mut quoted = false;
        let mut escaped = false;
        let outside: String = line
            .chars()
            .filter(|c| {
                let was = quoted;
                quoted ^= *c == '"' && !escaped;
                escaped = was && *c == '\\' && !escaped;
                !was
            })
            .collect();
        let number =
            |rest: &str| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse::<u32>();
        refs.extend(outside.split("ref=@e").skip(1).map(|rest| number(rest).unwrap()));
    }
    refs
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_ref_is_printed_once(tree in any_tree(), options in any_options()) {
        let (view, text) = render(&tree, &options);
        let mut render_with_refs = refs_in(&text);
        prop_assert_eq!(render_with_refs.len() as u32, view.refs);
        prop_assert_eq!(text.lines().count(), view.lines.len().max(1));
        render_with_refs.sort_unstable();
        render_with_refs.dedup();
        prop_assert_eq!(render_with_refs.len() as u32, view.refs);
    }

    #[test]
    fn every_ref_is_shown_or_counted(tree in any_tree(), options in any_options()) {
        let options = ViewOptions { find: None, ..options };
        let (view, _) = render(&tree, &options);
        let root = options.root.filter(|root| *root < tree.nodes.len()).unwrap_or(0);
        let tiers = ref_tiers(&tree, options.policy);
        let here = root..if tree.nodes.is_empty() { 0 } else { tree.end(root) };
        let refs = here.filter(|index| tiers.has_ref(*index)).count() as u32;
        prop_assert_eq!(view.refs + view.cut.refs + view.folded.refs + view.options, refs);
    }

    #[test]
    fn output_does_not_depend_on_earlier_numbers(tree in any_tree(), options in any_options(), step in 1_u32..50) {
        let (first, text) = render(&tree, &options);
        let mut numbers = SequentialRefs::default();
        let later = view(&tree, &options, &mut |frame, element| 1000 - step * numbers.number(frame, element).min(10)
            + 2000 * numbers.number(frame, element));
        prop_assert_eq!(first.lines.len(), later.lines.len());
        let later = render_with_refs(&tree, &later, &options.print);
        prop_assert_eq!(crate::hash::ax_hash(&text), render_with_refs(&tree, &first, &options.print).ax_hash());
        prop_assert_eq!(crate::hash::ax_hash(&text), later.ax_hash());
    }

    #[test]
    fn other_functions_never_panic(was in any_tree(), now in any_tree(), options in any_options()) {
        use crate::{delta, refs, render, snapshot};
        let (view_was, _) = render(&was, &options);
        let (view_now, full) = render(&now, &options);
        let base = |tree: &Tree, view: &View| delta::DeltaBase::new(&std::sync::Arc::new(tree.clone()), view, &options.print);
        let changes = delta::delta(&base(&was, &view_was), &base(&now, &view_now), &full);
        prop_assert!(!changes.text.is_empty());
        let same = delta::delta(&base(&now, &view_now), &base(&now, &view_now), &full);
        prop_assert_eq!(same.text, "no change");
        let spell = |number: u32| format!("e{number}");
        render::render_mcp(&now, &view_now, &render::McpRender { spell: &spell, print: options.print });
        let build = snapshot::BuildOptions { nodes: true, ..snapshot::BuildOptions::default() };
        let json = serde_json::to_string(&snapshot::build(&now, &view_now, &build)).unwrap();
        prop_assert!(serde_json::from_str::<snapshot::WebAiSnapshot>(&json).is_ok());
        let mut registry = refs::Registry::default();
        registry.issue_view(&std::sync::Arc::new(now.clone()), &view_now, refs::Scope::Whole);
        for index in (0..now.nodes.len()).step_by(5).filter(|index| now.nodes[*index].element > 0) {
            let found = refs::resolve(&now, index, &now, &std::collections::HashSet::new());
            let is_same = matches!(&found, refs::Resolution::Same { changes, .. } if changes.is_empty());
            prop_assert!(is_same, "{:?}", found);
        }
        for index in (0..was.nodes.len()).step_by(7) {
            refs::resolve(&was, index, &now, &std::collections::HashSet::new());
            refs::Fingerprint::new(&was, index);
        }
    }
}
