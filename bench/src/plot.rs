//! Bars as a small SVG picture. What they mean is the caller's business.

use std::fmt::Write as _;

/// Bars of one unit, drawn to one scale.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What is shown, with its unit.
    pub title: String,
    /// From top to bottom.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// What it stands for.
    pub label: String,
    /// How long it is.
    pub value: f64,
    /// A line from one value to another over its end.
    pub spread: Option<(f64, f64)>,
    /// A mark at the value that it should not exceed.
    pub limit: Option<f64>,
    /// How it looks.
    pub tone: Tone,
}

/// What a bar belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// To us.
    Ours,
    /// To somebody else.
    Theirs,
    /// To nobody: what everybody pays.
    Floor,
}

const WIDTH: f64 = 720.0;
const LEFT: f64 = 210.0;
const RIGHT: f64 = 90.0;
const ROW: f64 = 24.0;
const TITLE: f64 = 30.0;
const GAP: f64 = 14.0;

/// Draws panels one under another. The background is white, so that it can be read on any page.
pub fn draw(panels: &[Panel]) -> String {
    let height = |panel: &Panel| TITLE + ROW * panel.bars.len() as f64 + GAP;
    let total: f64 = panels.iter().map(height).sum::<f64>() + GAP;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{total}\" \
         viewBox=\"0 0 {WIDTH} {total}\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    );
    let mut top = GAP;
    for panel in panels {
        draw_panel(&mut svg, panel, top);
        top += height(panel);
    }
    svg.push_str("</svg>\n");
    svg
}

fn draw_panel(svg: &mut String, panel: &Panel, top: f64) {
    let reach = |bar: &Bar| {
        let spread = bar.spread.map_or(0.0, |(_, high)| high);
        bar.value.max(spread).max(bar.limit.unwrap_or_default())
    };
    let longest = panel.bars.iter().map(reach).fold(0.0, f64::max);
    let scale = if longest > 0.0 { (WIDTH - LEFT - RIGHT) / longest } else { 0.0 };
    let x = |value: f64| LEFT + value.max(0.0) * scale;
    _ = writeln!(
        svg,
        "<text x=\"14\" y=\"{:.1}\" font-weight=\"600\" fill=\"#1f2328\">{}</text>",
        top + 16.0,
        escape(&panel.title)
    );
    let mut y = top + TITLE;
    for bar in &panel.bars {
        let colour = match bar.tone {
            Tone::Ours => "#1a7f5a",
            Tone::Theirs => "#b9822b",
            Tone::Floor => "#9aa4ae",
        };
        let middle = y + ROW / 2.0 - 3.0;
        _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#1f2328\">{}</text>\n\
             <rect x=\"{LEFT}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"/>",
            LEFT - 8.0,
            middle + 4.5,
            escape(&bar.label),
            x(bar.value) - LEFT,
            ROW - 6.0,
        );
        if let Some((low, high)) = bar.spread {
            _ = writeln!(
                svg,
                "<path d=\"M{:.1} {middle:.1}H{:.1}\" stroke=\"#1f2328\" stroke-width=\"1.5\"/>",
                x(low),
                x(high)
            );
        }
        if let Some(limit) = bar.limit {
            _ = writeln!(
                svg,
                "<path d=\"M{:.1} {:.1}V{:.1}\" stroke=\"#cf222e\" stroke-width=\"2\" \
                 stroke-dasharray=\"3 2\"/>",
                x(limit),
                y - 2.0,
                y + ROW - 4.0
            );
        }
        _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#1f2328\">{:.1}</text>",
            x(reach(bar)) + 6.0,
            middle + 4.5,
            bar.value
        );
        y += ROW;
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(label: &str, value: f64) -> Bar {
        Bar { label: label.into(), value, spread: None, limit: None, tone: Tone::Ours }
    }

    #[test]
    fn the_longest_bar_fills_the_width() {
        let panel = Panel { title: "ms".into(), bars: vec![bar("a", 2.0), bar("b", 1.0)] };
        let svg = draw(&[panel]);
        assert!(svg.contains("width=\"420.0\""), "{svg}");
        assert!(svg.contains("width=\"210.0\""), "{svg}");
    }

    #[test]
    fn names_are_text_not_markup() {
        let svg = draw(&[Panel { title: "a < b & c".into(), bars: vec![bar("<x>", 0.0)] }]);
        assert!(svg.contains("a &lt; b &amp; c"));
        assert!(svg.contains("&lt;x&gt;"));
        assert!(!svg.contains("NaN"));
    }

    #[test]
    fn a_limit_beyond_the_bar_stretches_the_scale() {
        let bar = Bar { limit: Some(4.0), ..bar("a", 1.0) };
        let svg = draw(&[Panel { title: String::new(), bars: vec![bar] }]);
        assert!(svg.contains("width=\"105.0\""), "{svg}");
    }
}
