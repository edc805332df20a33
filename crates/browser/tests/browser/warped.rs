//! Clicks in frames that are rotated, skewed, mirrored, scaled, zoomed or in perspective hit their
//! targets, also in nested and out-of-process frames.

use crate::harness::browser_test;
use crate::probes::describe;
use std::fmt::Write as _;

/// Transforms of a frame: styles of its container, and of the frame itself.
const TRANSFORMS: &[(&str, &str)] = &[
    ("", "transform: rotate(30deg)"),
    ("", "transform: rotate(90deg); border: 7px solid; padding: 11px"),
    ("transform: rotate(-20deg) scale(.8)", "rotate: 200deg"),
    ("transform: scale(.5)", "border: 10px solid; padding: 5px 20px"),
    ("", "scale: 1.5"),
    ("", "transform: skewX(20deg) skewY(10deg)"),
    ("", "transform: scaleX(-1)"),
    ("", "transform: perspective(500px) rotateY(40deg)"),
    ("perspective: 400px", "transform: rotateX(35deg) rotateZ(15deg)"),
    ("perspective: 600px", "transform: translateZ(-100px) rotateY(-30deg)"),
    ("zoom: 1.5", ""),
    ("zoom: .5", "transform: rotate(45deg)"),
];

#[test]
fn clicks_hit_targets_in_transformed_frames() {
    browser_test(async |t| {
        let inner =
            "<!doctype html><style>button { position: absolute; width: 40px; height: 24px }</style>
            <button style='left:5px;top:5px' onclick='tell(1)'>North</button>
            <button style='right:5px;bottom:5px' onclick='tell(2)'>South</button>
            <script>const tell = (what) => top.postMessage(what, '*')</script>";
        t.page("/inner", inner);
        let page = |(around, own): (&str, &str), src: &str| {
            format!(
                "<!doctype html><style>body {{ margin: 150px 200px }} iframe {{ width: 220px; height: 160px }}</style>
                 <div style='{around}'><iframe style='{own}' src='{src}'></iframe></div><div style='height:2000px'></div>
                 <script>window.got = ''; addEventListener('message', ({{ data }}) => top === window ? got += data : top.postMessage(data, '*'))</script>"
            )
        };
        let mut pages = Vec::new();
        for (number, drawn) in TRANSFORMS.iter().enumerate() {
            // Every other frame is out-of-process.
            let src = if number % 2 == 0 { t.url("/inner") } else { t.other_url("/inner") };
            pages.push((format!("{drawn:?}"), page(*drawn, &src)));
        }
        // Nested frames, each with its own transform.
        for (outer, middle, is_other) in [(0, 8, false), (8, 2, false), (7, 0, true), (3, 1, true)]
        {
            let path = format!("/middle-{outer}-{middle}");
            let body =
                page(TRANSFORMS[middle], &t.url("/inner")).replace("150px 200px", "60px 80px");
            t.page(&path, body);
            let src = if is_other { t.other_url(&path) } else { t.url(&path) };
            let body = page(TRANSFORMS[outer], &src)
                .replace("width: 220px; height: 160px", "width: 500px; height: 420px");
            pages.push((format!("{:?} in {:?}", TRANSFORMS[middle], TRANSFORMS[outer]), body));
        }
        let mut wrong = String::new();
        for (name, body) in pages {
            t.page("/", body);
            t.open("/").await;
            for (target, expected) in [("text=North", "1"), ("text=South", "12")] {
                let click = format!(r#"{{"verb":"click","target":"{target}"}}"#);
                let outcome = t.run(serde_json::from_str(&click).unwrap()).await;
                let got = t.eval("got").await;
                if got != format!("\"{expected}\"") {
                    let _ = writeln!(wrong, "{name}: {target}: got {got}: {}", describe(&outcome));
                }
            }
        }
        assert!(wrong.is_empty(), "\n{wrong}");
    });
}

#[test]
fn coordinates_in_rotated_frame_hit_drawn_element() {
    browser_test(async |t| {
        t.page(
            "/",
            "<!doctype html><iframe style='position:absolute;left:100px;top:100px;width:200px;height:100px;border:0;transform:rotate(180deg)'
             srcdoc='<style>button { position:absolute; right:0; bottom:0; width:50px; height:20px }</style><button onclick=\"parent.got = 1\">Corner</button>'></iframe>",
        );
        t.open("/").await;
        // The bottom right of the document is drawn at the top left.
        let outcome =
            t.run(serde_json::from_str(r#"{"verb":"click","target":"xy=110,108"}"#).unwrap()).await;
        assert_eq!(t.eval("window.got").await, "1", "{}", describe(&outcome));
    });
}
