//! Screenshots and PDF files, checked by their headers.

use crate::harness::browser_test;
use agbrowse_browser::command::{
    ImageFormat, Pdf, Property, Screenshot, ScreenshotReply, Snapshot,
};
use agbrowse_browser::{Command, Outcome, Reply};

async fn shoot(
    t: &crate::harness::TestContext,
    screenshot: Screenshot,
) -> (ScreenshotReply, Outcome) {
    let mut outcome = t.run(Command::Screenshot(screenshot)).await.unwrap();
    let Reply::Screenshot(shot) = &mut outcome.reply else { panic!("no picture") };
    (shot.clone(), outcome)
}

/// Width and height from the PNG header.
fn png_size(data: &[u8]) -> (u32, u32) {
    assert_eq!(&data[..8], b"\x89PNG\r\n\x1a\n");
    let number = |at: usize| u32::from_be_bytes(data[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

#[test]
fn screenshot_covers_viewport_or_full_page() {
    browser_test(async |t| {
        t.page("/", "<style>body{margin:0}div{height:3000px;background:linear-gradient(red,blue)}</style><div>");
        t.open("/").await;
        let (shot, _) = shoot(&t, Screenshot::default()).await;
        assert_eq!((png_size(&shot.data), shot.bytes), ((1280, 720), shot.data.len()));
        let (shot, _) = shoot(&t, Screenshot { full_page: true, ..Screenshot::default() }).await;
        assert_eq!(png_size(&shot.data), (1280, 3000));
        for (format, magic) in
            [(ImageFormat::Jpeg, &b"\xff\xd8\xff"[..]), (ImageFormat::Webp, b"RIFF")]
        {
            let options =
                Screenshot { format: Some(format), quality: Some(40), ..Screenshot::default() };
            let (shot, _) = shoot(&t, options).await;
            assert!(shot.data.starts_with(magic), "{format:?}");
            let named = Screenshot {
                path: Some(format!("x.{}", format.as_str()).into()),
                ..Screenshot::default()
            };
            assert_eq!(shoot(&t, named).await.0.format, format);
        }
    });
}

#[test]
fn screenshot_of_too_tall_page_is_cropped_with_note() {
    browser_test(async |t| {
        t.page("/", "<body style='margin:0'><div style='height:40000px'>");
        t.open("/").await;
        let (shot, outcome) =
            shoot(&t, Screenshot { full_page: true, ..Screenshot::default() }).await;
        assert_eq!(png_size(&shot.data).1, 16_384);
        assert_eq!(outcome.notes.last().unwrap().code, "cut");
    });
}

#[test]
fn two_tabs_are_captured_concurrently() {
    browser_test(async |t| {
        t.page("/", "<body style='background:teal'>");
        let new = |url| {
            use agbrowse_browser::command::{NewTab, TabAction, TabCommand};
            Command::Tab(TabCommand {
                action: TabAction::New(NewTab { url: Some(url), ..NewTab::default() }),
            })
        };
        let first = crate::harness::tab_id(t.run(new(t.url("/"))).await);
        let second = crate::harness::tab_id(t.run(new(t.url("/"))).await);
        let picture = || Command::Screenshot(Screenshot::default());
        let (first, second) = tokio::join!(t.run_on(first, picture()), t.run_on(second, picture()));
        for outcome in [first, second] {
            let Reply::Screenshot(shot) = outcome.unwrap().reply else { panic!("no picture") };
            assert_eq!(png_size(&shot.data), (1280, 720));
        }
    });
}

#[test]
fn page_is_printed_to_pdf() {
    browser_test(async |t| {
        t.page("/", "<h1>On paper</h1><div style='height:3000px'>");
        t.open("/").await;
        let outcome = t.run(Command::Pdf(Pdf::default())).await.unwrap();
        let Reply::Pdf(printed) = outcome.reply else { panic!("no file") };
        assert!(printed.data.starts_with(b"%PDF-") && printed.data.len() == printed.bytes);
        let wrong = Pdf { pages: Some("9-1".into()), ..Pdf::default() };
        let error = t.run(Command::Pdf(wrong)).await.unwrap_err();
        assert_eq!(error.code(), agbrowse_browser::Code::PdfFailed, "{error}");
    });
}

#[test]
fn element_screenshot_works_at_any_position() {
    browser_test(async |t| {
        t.page(
            "/",
            "<body style='margin:0'><div style='height:2000px'></div>\
             <button style='width:120px;height:40px;margin:0;border:0'>Far down</button>\
             <i id=none></i>",
        );
        t.open("/").await;
        let of = |target: &str| Screenshot {
            target: Some(target.parse().unwrap()),
            ..Screenshot::default()
        };
        let (shot, _) = shoot(&t, of("css=button")).await;
        assert_eq!(png_size(&shot.data), (120, 40));
        assert_eq!(t.eval("scrollY").await, "0", "the page is left where it was");
        let error = t.run(Command::Screenshot(of("css=#none"))).await.unwrap_err();
        assert_eq!(error.code(), agbrowse_browser::Code::ScreenshotCaptureFailed);
        let error = t.run(Command::Screenshot(of("css=video"))).await.unwrap_err();
        assert_eq!(error.code(), agbrowse_browser::Code::TargetNotFound);
    });
}

#[test]
fn image_map_area_has_correct_box() {
    browser_test(async |t| {
        let image = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=";
        t.page(
            "/",
            format!(
                "<body style='margin:0'><div style='height:2000px'></div>\
                 <img usemap='#M' width=200 height=100 src='{image}' style='border:5px solid'>\
                 <map name=m><area coords='10,20,40,60' href=# alt=Corner>\
                 <area shape=circle coords='100,50,20' href=# alt=Ring></map>"
            ),
        );
        t.open("/").await;
        for (target, expected_box, size) in [
            ("role=link[name=\"Corner\"]", "15 2025 30 40", (30, 40)),
            ("role=link[name=\"Ring\"]", "85 2035 40 40", (40, 40)),
        ] {
            let found = t.run(crate::snapshot::get(Property::Box, target)).await.unwrap();
            assert_eq!(found.reply.to_string(), expected_box, "{target}");
            let options =
                Screenshot { target: Some(target.parse().unwrap()), ..Screenshot::default() };
            let (shot, _) = shoot(&t, options).await;
            assert_eq!(png_size(&shot.data), size, "{target}");
        }
    });
}

#[test]
fn ref_labels_are_drawn_on_screenshot_only() {
    browser_test(async |t| {
        t.page(
            "/",
            "<body style='margin:0'><script>window.seen = 0; \
             new MutationObserver((all) => seen += all.length).observe(document, \
             {subtree: true, childList: true, attributes: true})</script>\
             <button style='position:absolute;left:50px;top:50px'>Go</button>",
        );
        t.open("/").await;
        let (plain, _) = shoot(&t, Screenshot::default()).await;
        let before = t.eval("seen").await;
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Webp] {
            let options = Screenshot { refs: true, format: Some(format), ..Screenshot::default() };
            let (shot, _) = shoot(&t, options).await;
            assert_eq!((shot.format, shot.width, shot.height), (format, 1280, 720));
            if format == ImageFormat::Png {
                assert_eq!(png_size(&shot.data), (1280, 720));
                assert_ne!(shot.data, plain.data);
            }
        }
        assert_eq!(t.eval("seen").await, before);
        // The refs in the labels are usable.
        let text = agbrowse_browser::command::Get {
            what: Property::Text,
            target: "@e1".parse().unwrap(),
            name: None,
            nth: None,
        };
        assert_eq!(t.run(Command::Get(text)).await.unwrap().reply.to_string(), "Go");
    });
}

#[test]
fn boxes_match_page_geometry_including_frames() {
    browser_test(async |t| {
        t.page("/inner", "<body style='margin:0'><button style='margin:7px'>Inner</button>");
        t.page(
            "/",
            format!(
                "<body style='margin:0'><h1 style='margin:0;height:40px'>Heading</h1>\
                 <iframe src='{}' style='margin-left:30px;border:3px solid'></iframe>\
                 <iframe src='{}' style='border:0'></iframe>",
                t.other_url("/inner"),
                t.url("/inner")
            ),
        );
        t.open("/").await;
        let options = Snapshot { boxes: true, ..Snapshot::default() };
        let full = crate::snapshot::details(&t, options.clone()).await;
        let text = crate::snapshot::snapshot_text(&t, options).await;
        assert!(text.contains("heading \"Heading\" [level=1 box=0,0,1280,40]"), "{text}");
        let mut places = Vec::new();
        for line in text.lines().filter(|line| line.contains("Inner")) {
            let name = crate::snapshot::ref_of(line, "Inner");
            let got =
                t.run(crate::snapshot::get(Property::Box, &name)).await.unwrap().reply.to_string();
            let expected_box =
                got.split(' ').map(|it| it.parse::<f32>().unwrap().round().to_string());
            let expected_box = expected_box.collect::<Vec<_>>().join(",");
            assert!(line.contains(&format!("box={expected_box}]")), "{line} {got}");
            places.push(expected_box);
        }
        assert_eq!(places.len(), 2, "{text}");
        assert_ne!(places[0], places[1]);
        assert!(full.refs.iter().all(|it| it.bounds.is_some()), "{text}");
    });
}

#[test]
fn ref_labels_are_drawn_only_on_visible_elements() {
    browser_test(async |t| {
        t.page(
            "/inner",
            "<body style='margin:0'><div style='height:90px'></div><button>Below</button>",
        );
        let html = format!(
            "<body style='margin:0;background:#fff'>\
             <div style='height:60px;width:200px;overflow:auto'>\
             <button style='display:block;height:50px'>One</button>\
             <button style='display:block;height:50px'>Two</button>\
             <button style='display:block;height:50px'>Three</button></div>\
             <div style='position:absolute;left:0;top:300px;width:100px;height:60px;background:#fff'></div>\
             <button style='position:absolute;left:10px;top:310px;z-index:-1'>Under</button>\
             <iframe src='{}' style='position:absolute;left:0;top:400px;border:0;width:200px;height:50px'></iframe>",
            t.url("/inner")
        );
        t.page("/", html);
        t.open("/").await;
        let (plain, _) = shoot(&t, Screenshot::default()).await;
        let (drawn, _) = shoot(&t, Screenshot { refs: true, ..Screenshot::default() }).await;
        // Compared in the browser: the rows in which the two images differ. A label is drawn above its box.
        let script = format!(
            "(async () => {{
                const load = async (text) => {{
                    const bytes = Uint8Array.from(atob(text), (it) => it.charCodeAt(0));
                    const picture = await createImageBitmap(new Blob([bytes]));
                    const draw = new OffscreenCanvas(1280, 720).getContext('2d');
                    draw.drawImage(picture, 0, 0);
                    return draw.getImageData(0, 0, 1280, 720).data;
                }};
                const [one, other] = [await load('{}'), await load('{}')];
                const rows = new Set();
                for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) rows.add(Math.floor(at / 5120));
                const has = (from, to) => [...rows].some((row) => row >= from && row < to);
                return [has(0, 60), has(62, 299), has(299, 380), has(460, 720)].join();
            }})()",
            base64(&plain.data),
            base64(&drawn.data)
        );
        assert_eq!(t.eval(&script).await, "\"true,false,false,false\"");
    });
}

fn base64(data: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for piece in data.chunks(3) {
        let bits = piece.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - piece.len()));
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= piece.len() { char::from(letter) } else { '=' });
        }
    }
    text
}
