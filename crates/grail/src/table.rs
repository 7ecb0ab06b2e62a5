//! Columns and little charts in text.

/// Rows under a heading: the first column to the left, numbers to the right.
pub(crate) struct Table {
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(heading: &[&str]) -> Self {
        Self { heading: heading.iter().map(|name| (*name).to_owned()).collect(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let all = || std::iter::once(&self.heading).chain(&self.rows);
        let width = |column: usize| {
            all().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.heading.len()).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        };
        all().map(line).collect()
    }
}

/// Shares between 0 and 1 as a line of bars; `·` where there is none.
pub(crate) fn sparkline(shares: impl Iterator<Item = Option<f64>>) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bar = |share: f64| BARS[((share.clamp(0.0, 1.0) * 8.0) as usize).min(7)];
    shares.map(|share| share.map_or('·', bar)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["rule", "fired"]);
        table.row(vec!["no-print".to_owned(), "7".to_owned()]);
        table.row(vec!["é".to_owned(), "1,200".to_owned()]);
        assert_eq!(table.lines(), ["rule      fired", "no-print      7", "é         1,200"]);
    }

    #[test]
    fn no_share_is_not_the_smallest_share() {
        assert_eq!(sparkline([Some(0.0), None, Some(0.5), Some(1.0)].into_iter()), "▁·▅█");
    }
}
