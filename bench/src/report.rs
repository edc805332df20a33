//! Reports: tables, requirements, and sections of the benchmark document.

use std::fmt;
use std::path::Path;

/// A Markdown table with aligned columns.
#[derive(Clone, Debug, Default)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table with these columns.
    pub fn new<'a>(head: impl IntoIterator<Item = &'a str>) -> Self {
        Self { head: head.into_iter().map(str::to_owned).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let widths: Vec<usize> = (0..self.head.len())
            .map(|column| {
                let length = |cells: &Vec<String>| cells.get(column).map(|c| c.chars().count());
                lines().filter_map(length).max().unwrap_or_default()
            })
            .collect();
        for (number, cells) in lines().enumerate() {
            for (column, width) in widths.iter().enumerate() {
                let cell = cells.get(column).map(String::as_str).unwrap_or_default();
                // Names on the left, numbers on the right.
                match column {
                    0 => write!(f, "| {cell:<width$} ")?,
                    _ => write!(f, "| {cell:>width$} ")?,
                }
            }
            writeln!(f, "|")?;
            if number == 0 {
                for (column, width) in widths.iter().enumerate() {
                    let end = if column == 0 { '-' } else { ':' };
                    write!(f, "|{}{end}", "-".repeat(width + 1))?;
                }
                writeln!(f, "|")?;
            }
        }
        Ok(())
    }
}

/// A measured value with a maximum.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// Name of the value.
    pub name: String,
    /// Maximum.
    pub limit: f64,
    /// Unit, such as ` MB`; empty for a ratio.
    pub unit: &'static str,
    /// Measured value; `None` when it was not measured.
    pub measured: Option<f64>,
}

impl Requirement {
    /// True when the measured value exceeds the maximum.
    pub fn is_missed(&self) -> bool {
        self.measured.is_some_and(|measured| measured > self.limit)
    }
}

/// The requirements as a table.
pub fn requirements(requirements: &[Requirement]) -> Table {
    let mut table = Table::new(["Requirement", "Allowed", "Measured", "Met"]);
    for Requirement { name, limit, unit, measured } in requirements {
        let (measured, met) = match measured {
            Some(value) if value > limit => (format!("{value:.2}{unit}"), "**no**"),
            Some(value) => (format!("{value:.2}{unit}"), "yes"),
            None => ("–".into(), "not measured"),
        };
        table.row([name.clone(), format!("≤ {limit}{unit}"), measured, met.into()]);
    }
    table
}

/// Writes a section of the benchmark document, replacing that of the same benchmark.
///
/// # Errors
/// When the file cannot be read or written.
pub fn write_section(path: &Path, name: &str, body: &str) -> std::io::Result<()> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error),
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, with_section(&text, name, body))
}

const HEADING: &str = "# Benchmarks\n\nEach section is written by the benchmark that it names; \
    `bench/README.md` says how to run them and how to read this.\n";

fn with_section(text: &str, name: &str, body: &str) -> String {
    let (open, close) = (format!("<!-- bench:{name} -->"), format!("<!-- /bench:{name} -->"));
    let section = format!("{open}\n\n{}\n\n{close}", body.trim());
    let place = text.find(&open).and_then(|start| {
        let end = start + text[start..].find(&close)?;
        Some((start, end + close.len()))
    });
    match place {
        Some((start, end)) => format!("{}{section}{}", &text[..start], &text[end..]),
        None if text.trim().is_empty() => format!("{HEADING}\n{section}\n"),
        None => format!("{}\n\n{section}\n", text.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_line_up() {
        let mut table = Table::new(["", "ms"]);
        table.row(["`true`".into(), "1.00".into()]);
        table.row(["a".into(), "12.50 ±".into()]);
        let expected = "\
|        |      ms |
|--------|--------:|
| `true` |    1.00 |
| a      | 12.50 ± |
";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn new_document_gets_a_heading() {
        let text = with_section("", "cli", "hello");
        assert!(text.starts_with("# Benchmarks\n"));
        assert!(text.ends_with("<!-- bench:cli -->\n\nhello\n\n<!-- /bench:cli -->\n"));
    }

    #[test]
    fn only_the_section_of_that_name_changes() {
        let text = with_section(&with_section("intro\n", "cli", "one"), "mcp", "two") + "end\n";
        let text = with_section(&text, "cli", "three");
        assert!(text.starts_with("intro\n\n<!-- bench:cli -->\n\nthree\n\n<!-- /bench:cli -->"));
        assert!(text.ends_with("<!-- bench:mcp -->\n\ntwo\n\n<!-- /bench:mcp -->\nend\n"));
        assert_eq!(with_section(&text, "cli", "three"), text);
    }

    #[test]
    fn unmeasured_requirement_is_not_missed() {
        let requirement =
            |measured| Requirement { name: "x".into(), limit: 0.5, unit: "", measured };
        assert!(!requirement(None).is_missed());
        assert!(!requirement(Some(0.5)).is_missed());
        assert!(requirement(Some(0.51)).is_missed());
        let text = requirements(&[requirement(None), requirement(Some(0.6))]).to_string();
        assert!(text.contains("not measured") && text.contains("**no**"), "{text}");
    }
}
