//! The one table a run prints, as Markdown, so that it can be copied into the documentation.

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What was measured.
    pub what: String,
    /// What came out.
    pub measured: String,
    /// What it stands against: the goal or the other programs.
    pub beside: String,
}

/// The table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    rows: Vec<Row>,
    /// What is not as it must be; a run with any fails.
    pub faults: Vec<String>,
}

impl Table {
    /// Adds a row.
    pub fn add(&mut self, what: impl Into<String>, measured: impl Into<String>, beside: impl Into<String>) {
        self.rows.push(Row { what: what.into(), measured: measured.into(), beside: beside.into() });
    }

    /// Adds what is wrong, unless it is as it must be.
    pub fn must(&mut self, good: bool, fault: impl Into<String>) {
        if !good {
            self.faults.push(fault.into());
        }
    }

    /// The table as Markdown.
    pub fn text(&self) -> String {
        let width = |of: fn(&Row) -> &str, least: usize| {
            self.rows.iter().map(|row| of(row).chars().count()).max().unwrap_or_default().max(least)
        };
        let (first, second) = (width(|row| &row.what, 4), width(|row| &row.measured, 8));
        let rule = |width: usize| "-".repeat(width + 2);
        let mut text = format!("| {:first$} | {:second$} | Beside it |\n", "What", "Measured");
        text += &format!("|{}|{}|---|\n", rule(first), rule(second));
        for Row { what, measured, beside } in &self.rows {
            text += &format!("| {what:first$} | {measured:second$} | {beside} |\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_markdown_and_a_fault_is_remembered() {
        let mut table = Table::default();
        table.add("leaks", "0", "gitleaks 12");
        table.must(true, "never");
        table.must(false, "1 leak");
        assert!(table.text().contains("| leaks | 0        | gitleaks 12 |"));
        assert_eq!(table.faults, ["1 leak"]);
    }
}
