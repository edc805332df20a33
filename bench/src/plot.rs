//! Bar and dot charts as small SVG pictures. Their meaning is defined by the caller.

use std::fmt::Write as _;

/// Bars of one unit, drawn to one scale.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Title with unit.
    pub title: String,
    /// The bars from top to bottom.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Label.
    pub label: String,
    /// Length.
    pub value: f64,
    /// Error bar from one value to another.
    pub spread: Option<(f64, f64)>,
    /// Mark at the limit.
    pub limit: Option<f64>,
    /// Colour.
    pub tone: Tone,
}

/// Group of a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Ours.
    Ours,
    /// Other tools.
    Theirs,
    /// Floor: the cost that all pay.
    Floor,
}

/// Dots on a logarithmic scale: a row for each quantity, with a dot for each series.
#[derive(Clone, Debug)]
pub struct Dots {
    /// Title with unit.
    pub title: String,
    /// The rows from top to bottom.
    pub rows: Vec<Row>,
}

/// A row of dots.
#[derive(Clone, Debug)]
pub struct Row {
    /// Label.
    pub label: String,
    /// The value of each series, if it has one.
    pub values: Vec<Option<f64>>,
}

/// A series of dots.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// Colour of the dots.
    pub colour: &'static str,
    /// Draw rings instead of dots.
    pub is_hollow: bool,
}

const WIDTH: f64 = 720.0;
const LEFT: f64 = 210.0;
const RIGHT: f64 = 90.0;
const ROW: f64 = 24.0;
const TITLE: f64 = 30.0;
const GAP: f64 = 14.0;

/// Draws panels one under another.
pub fn draw(panels: &[Panel]) -> String {
    let height = |panel: &Panel| TITLE + ROW * panel.bars.len() as f64 + GAP;
    let total: f64 = panels.iter().map(height).sum::<f64>() + GAP;
    let mut svg = open(total);
    let mut top = GAP;
    for panel in panels {
        draw_panel(&mut svg, panel, top);
        top += height(panel);
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws dot panels one under another, with a legend above.
pub fn draw_dots(series: &[Series], panels: &[Dots]) -> String {
    let height = |panel: &Dots| TITLE + ROW + LINE * panel.rows.len() as f64 + GAP;
    let legend = ROW * (series.len().div_ceil(LEGEND_COLUMNS)) as f64;
    let total = panels.iter().map(height).sum::<f64>() + legend + GAP * 2.0;
    let mut svg = open(total);
    for (number, one) in series.iter().enumerate() {
        let x = 20.0 + (number % LEGEND_COLUMNS) as f64 * (WIDTH - 20.0) / LEGEND_COLUMNS as f64;
        let y = GAP + (number / LEGEND_COLUMNS) as f64 * ROW + ROW / 2.0;
        draw_dot(&mut svg, one, (x, y));
        _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#1f2328\">{}</text>",
            x + 10.0,
            y + 4.5,
            escape(&one.name)
        );
    }
    let mut top = GAP * 2.0 + legend;
    for panel in panels {
        draw_rows(&mut svg, series, panel, top);
        top += height(panel);
    }
    svg.push_str("</svg>\n");
    svg
}

/// Height of a row of dots, and number of names in a row of the legend.
const LINE: f64 = 18.0;
const LEGEND_COLUMNS: usize = 4;

fn draw_rows(svg: &mut String, series: &[Series], panel: &Dots, top: f64) {
    let values = || panel.rows.iter().flat_map(|row| row.values.iter().flatten());
    let logs = || values().filter(|value| **value > 0.0).map(|value| value.log10());
    let low = logs().fold(f64::INFINITY, f64::min).floor();
    let high = logs().fold(f64::NEG_INFINITY, f64::max).ceil().max(low + 1.0);
    let x = |log: f64| LEFT + (log - low) / (high - low) * (WIDTH - LEFT - 30.0);
    _ = writeln!(
        svg,
        "<text x=\"14\" y=\"{:.1}\" font-weight=\"600\" fill=\"#1f2328\">{}</text>",
        top + 16.0,
        escape(&panel.title)
    );
    if !low.is_finite() {
        return;
    }
    let (first, last) =
        (top + TITLE + ROW - 6.0, top + TITLE + ROW + LINE * panel.rows.len() as f64);
    for power in 0..=(high - low) as i32 {
        let log = low + f64::from(power);
        _ = writeln!(
            svg,
            "<path d=\"M{0:.1} {first:.1}V{last:.1}\" stroke=\"#d0d7de\"/>\n\
             <text x=\"{0:.1}\" y=\"{1:.1}\" text-anchor=\"middle\" fill=\"#59636e\">{2}</text>",
            x(log),
            first - 4.0,
            10f64.powf(log)
        );
    }
    for (number, row) in panel.rows.iter().enumerate() {
        let y = top + TITLE + ROW + LINE * (number as f64 + 0.5);
        _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#1f2328\">{}</text>\n\
             <path d=\"M{LEFT} {y:.1}H{:.1}\" stroke=\"#eaeef2\"/>",
            LEFT - 8.0,
            y + 4.5,
            escape(&row.label),
            x(high)
        );
        for (one, value) in series.iter().zip(&row.values) {
            if let Some(value) = value.filter(|value| *value > 0.0) {
                draw_dot(svg, one, (x(value.log10()), y));
            }
        }
    }
}

fn draw_dot(svg: &mut String, series: &Series, (x, y): (f64, f64)) {
    let colour = series.colour;
    let fill = if series.is_hollow { "#fff" } else { colour };
    _ = writeln!(
        svg,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{fill}\" stroke=\"{colour}\" \
         stroke-width=\"1.5\"/>"
    );
}

/// Start of an SVG picture. Its background is white, so that it is readable on any page.
fn open(height: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    )
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
    fn longest_bar_fills_the_width() {
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
    fn dots_stand_on_powers_of_ten() {
        let series = [Series { name: "a".into(), colour: "#000", is_hollow: false }];
        let row = |value| Row { label: "page".into(), values: vec![value] };
        let rows = vec![row(Some(1.0)), row(Some(10.0)), row(Some(100.0)), row(None)];
        let svg = draw_dots(&series, &[Dots { title: "ms".into(), rows }]);
        for x in ["210.0", "450.0", "690.0"] {
            assert!(svg.contains(&format!("<circle cx=\"{x}\"")), "{svg}");
        }
        assert_eq!(svg.matches("<circle").count(), 1 + 3);
        let empty = draw_dots(&series, &[Dots { title: "ms".into(), rows: vec![row(None)] }]);
        assert!(!empty.contains("NaN") && !empty.contains("inf"));
    }

    #[test]
    fn limit_beyond_the_bar_stretches_the_scale() {
        let bar = Bar { limit: Some(4.0), ..bar("a", 1.0) };
        let svg = draw(&[Panel { title: String::new(), bars: vec![bar] }]);
        assert!(svg.contains("width=\"105.0\""), "{svg}");
    }
}
