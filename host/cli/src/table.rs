//! Tables: columns without lines between them, fitted to a width by leaving the least important out.

use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};

use crate::printer::{Printer, Tone};

/// The width of a table that no terminal limits.
pub(crate) const WIDTH_WITHOUT_TERMINAL: usize = 100;
/// Spaces between two columns.
const GAP: u16 = 2;

/// How wide a table may be.
pub(crate) fn width(printer: &Printer) -> usize {
    let terminal = if printer.has_terminal() { Table::new().width() } else { None };
    terminal.filter(|width| *width > 0).map_or(WIDTH_WITHOUT_TERMINAL, usize::from)
}

/// A table of these rows under this header, one line each, where each cell is one line. Nothing is wrapped.
pub(crate) fn lines(header: &[&str], rows: &[Vec<String>]) -> Vec<String> {
    let mut table = new(header, rows);
    table.set_content_arrangement(ContentArrangement::Disabled);
    trimmed(&table)
}

/// The same, its last column wrapped so that the table fits a width.
pub(crate) fn wrapped(header: &[&str], rows: &[Vec<String>], width: usize) -> Vec<String> {
    let mut table = new(header, rows);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    let last = header.len().saturating_sub(1);
    for (index, column) in table.column_iter_mut().enumerate() {
        if index < last {
            column.set_constraint(comfy_table::ColumnConstraint::ContentWidth);
        }
    }
    trimmed(&table)
}

fn new(header: &[&str], rows: &[Vec<String>]) -> Table {
    let mut table = Table::new();
    // Width and colour are the printer's to decide.
    table.force_no_tty().load_style(NOTHING).set_header(header.to_vec());
    table.add_rows(rows.to_vec());
    let last = header.len().saturating_sub(1);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if index < last { GAP } else { 0 }));
    }
    table
}

fn trimmed(table: &Table) -> Vec<String> {
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// How wide a table of these rows is.
pub(crate) fn natural_width(header: &[&str], rows: &[Vec<String>]) -> usize {
    let widths = new(header, rows).column_max_content_widths();
    let gaps = usize::from(GAP) * widths.len().saturating_sub(1);
    widths.into_iter().map(usize::from).sum::<usize>() + gaps
}

/// A text in lines of at most `width`, each after `indent`, the first after `first` in its place.
pub(crate) fn paragraph(first: &str, indent: &str, text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > width {
            lines.push(std::mem::replace(&mut line, indent.to_owned()));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    lines.push(line);
    lines
}

/// Colours the first occurrence of a word in a line, where it stands between spaces or at an end.
pub(crate) fn paint_word(printer: &Printer, line: &str, word: &str, tone: Tone) -> String {
    let padded = format!(" {line} ");
    match padded.find(&format!(" {word} ")) {
        Some(at) => format!("{}{}{}", &line[..at], printer.paint(tone, word), &line[at + word.len()..]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_is_wrapped_at_words_and_indented() {
        let lines = paragraph("  next: ", "    ", "one two three four", 16);
        assert_eq!(lines, ["  next: one two", "    three four"]);
        assert_eq!(paragraph("", "", "averyveryverylongword x", 10), ["averyveryverylongword", "x"]);
    }

    #[test]
    fn columns_stand_below_their_names() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["long".to_owned(), "2".to_owned()]];
        assert_eq!(lines(&["NAME", "N"], &rows), ["NAME  N", "a     1", "long  2"]);
        assert_eq!(natural_width(&["NAME", "N"], &rows), 7);
    }

    #[test]
    fn only_the_last_column_is_wrapped() {
        let rows = [vec!["name-of-it".to_owned(), "some words that do not fit here".to_owned()]];
        let lines = wrapped(&["NAME", "DETAIL"], &rows, 30);
        assert!(lines.iter().all(|line| line.chars().count() <= 30), "{lines:?}");
        assert!(lines[1].starts_with("name-of-it  some words"), "{lines:?}");
    }
}
