//! How plugins look as rows: in `list`, and alone in `show` and `why`.

use hermes_model::id::PluginName;
use hermes_model::suggest;
use hermes_plugins::change::EditError;
use hermes_plugins::problem::Problem;
use hermes_plugins::registry::{Plugins, Row, State};

use crate::printer::{Printer, Tone};
use crate::report::Report;
use crate::table;

/// The columns of `list`.
const HEADER: [&str; 8] = ["NAME", "VERSION", "STATE", "HOOKS", "API", "ORDER", "SOURCE", "DETAIL"];
/// Where these stand in [`HEADER`].
const NAME: usize = 0;
const SOURCE: usize = 6;
const DETAIL: usize = 7;
/// Columns in the order in which they are given up where the width does not do.
const DISPENSABLE: [usize; 5] = [6, 5, 4, 3, 1];
/// Below this, a column of details is a ladder of words; they stand below the row then.
const DETAIL_MIN: usize = 40;
/// The shortest a source is cut to before its column is given up: `file:` and some of the file's name.
const SOURCE_MIN: usize = 16;

/// The tone of a state.
pub(crate) fn tone(state: State) -> Tone {
    match state {
        State::Loaded => Tone::Good,
        State::Disabled => Tone::Faint,
        State::Failed | State::Missing => Tone::Bad,
        State::NeedsGrant | State::Quarantined => Tone::Warning,
    }
}

/// The error of a plugin that is not there.
pub(crate) fn not_installed(name: &PluginName, plugins: &Plugins) -> Report {
    let rows = plugins.rows();
    let known: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    EditError::NotInstalled { name: name.clone(), hint: suggest::hint(name.as_str(), &known) }.into()
}

/// `code: message`.
pub(crate) fn headline(problem: &Problem) -> String {
    format!("{}: {}", problem.code, problem.message)
}

/// Hooks as words.
pub(crate) fn hooks(row: &Row) -> String {
    let words: Vec<&str> = row.hooks.iter().map(|hook| hook.name()).collect();
    or_dash(words.join(","))
}

/// A dash for what is not known.
pub(crate) fn or_dash(text: String) -> String {
    if text.is_empty() { "-".to_owned() } else { text }
}

/// The lines of `list`: at most `width` wide, except where a single word is wider.
pub(crate) fn listed(rows: &[Row], width: usize, printer: &Printer) -> Vec<String> {
    let mut cells: Vec<Vec<String>> = rows.iter().map(cells).collect();
    let without_detail = table::natural_width(&HEADER[..DETAIL], &cells_of(&cells, &(0..DETAIL).collect::<Vec<_>>()));
    let beside = rows.iter().all(|row| row.problems.is_empty()) || without_detail + 2 + DETAIL_MIN <= width;
    let columns = fitting(&mut cells, width, beside);
    let header: Vec<&str> = columns.iter().map(|column| HEADER[*column]).collect();
    let chosen = cells_of(&cells, &columns);
    let lines = if columns.contains(&DETAIL) {
        table::wrapped(&header, &chosen, width)
    } else {
        below(rows, table::lines(&header, &chosen), width)
    };
    let paint = |line: String| {
        let row = rows.iter().find(|row| line.split(' ').next() == Some(&row.name));
        row.map_or(line.clone(), |row| table::paint_word(printer, &line, row.state.word(), tone(row.state)))
    };
    lines.into_iter().map(paint).collect()
}

/// The cells of a row, all columns.
fn cells(row: &Row) -> Vec<String> {
    let api = row.api.hook.as_ref().or(row.api.host.as_ref()).cloned().unwrap_or_default();
    vec![
        row.name.clone(),
        or_dash(row.version.clone().unwrap_or_default()),
        row.state.word().to_owned(),
        hooks(row),
        or_dash(api),
        row.order.to_string(),
        row.source.clone(),
        detail(row).join("\n"),
    ]
}

/// What is wrong with a plugin, a line each: the first problem, its next step, and where the others are.
fn detail(row: &Row) -> Vec<String> {
    let Some(first) = row.problems.first() else { return Vec::new() };
    let more = row.problems.len() - 1;
    let mut lines = vec![headline(first), format!("next: {}", first.next)];
    if more > 0 {
        lines.push(format!("(+{more} more: hermes plugins why {})", row.name));
    }
    lines
}

fn cells_of(cells: &[Vec<String>], columns: &[usize]) -> Vec<Vec<String>> {
    cells.iter().map(|row| columns.iter().map(|column| row[*column].clone()).collect()).collect()
}

/// The columns that fit. Sources are shortened before a column is given up.
fn fitting(cells: &mut [Vec<String>], width: usize, beside: bool) -> Vec<usize> {
    let room = if beside && cells.iter().any(|row| !row[DETAIL].is_empty()) { width - DETAIL_MIN - 2 } else { width };
    let mut columns: Vec<usize> = (NAME..DETAIL).collect();
    let wide = |columns: &[usize], cells: &[Vec<String>]| {
        let header: Vec<&str> = columns.iter().map(|column| HEADER[*column]).collect();
        table::natural_width(&header, &cells_of(cells, columns))
    };
    let over = wide(&columns, cells).saturating_sub(room);
    if over > 0 {
        let longest = cells.iter().map(|row| row[SOURCE].chars().count()).max().unwrap_or(0);
        let target = longest.saturating_sub(over).max(SOURCE_MIN);
        for row in cells.iter_mut() {
            row[SOURCE] = shortened(&row[SOURCE], target);
        }
    }
    for given_up in DISPENSABLE {
        if wide(&columns, cells) <= room {
            break;
        }
        columns.retain(|column| *column != given_up);
    }
    // Without problems the column is only a name, and is there if it costs nothing.
    if beside && wide(&columns, cells) + 2 + HEADER[DETAIL].len() <= width {
        columns.push(DETAIL);
    }
    columns
}

/// A source in at most `max` characters: its kind, and the end of its path, where the file's name is.
fn shortened(source: &str, max: usize) -> String {
    let count = source.chars().count();
    if count <= max {
        return source.to_owned();
    }
    let (kind, path) = source.split_once(':').map_or(("", source), |(kind, path)| (kind, path));
    let kept = max.saturating_sub(kind.chars().count() + 2);
    let tail: String = path.chars().skip(path.chars().count().saturating_sub(kept)).collect();
    format!("{kind}:\u{2026}{tail}")
}

/// The lines of a table with the details of each row below it.
fn below(rows: &[Row], lines: Vec<String>, width: usize) -> Vec<String> {
    let mut lines = lines.into_iter();
    let mut out: Vec<String> = lines.next().into_iter().collect();
    for (row, line) in rows.iter().zip(lines) {
        out.push(line);
        for text in detail(row) {
            out.extend(table::paragraph("  ", "    ", &text, width));
        }
    }
    out
}

/// All problems of a plugin, with what was wanted and offered.
pub(crate) fn problems(problems: &[Problem], width: usize) -> Vec<String> {
    let mut out = Vec::new();
    for problem in problems {
        out.extend(table::paragraph("  ", "    ", &headline(problem), width));
        for (what, text) in [("wanted", &problem.wanted), ("offered", &problem.offered)] {
            if let Some(text) = text {
                out.extend(table::paragraph(&format!("    {what}: "), "      ", text, width));
            }
        }
        out.extend(table::paragraph("    next: ", "      ", &problem.next, width));
    }
    out
}

/// The state of a plugin, in its colour.
pub(crate) fn state(row: &Row, printer: &Printer) -> String {
    printer.paint(tone(row.state), row.state.word())
}

#[cfg(test)]
mod tests {
    use hermes_model::hook::Hook;
    use hermes_plugins::problem::Code;
    use hermes_plugins::registry::{Api, Permissions};

    use super::*;
    use crate::cli::Global;

    fn row(name: &str, state: State, source: &str, problems: Vec<Problem>) -> Row {
        Row {
            name: name.to_owned(),
            version: Some("0.1.0".to_owned()),
            state,
            enabled: true,
            order: 1,
            hooks: vec![Hook::Transform],
            api: Api { hook: Some("0.1.0".to_owned()), host: None },
            source: source.to_owned(),
            digest: None,
            description: None,
            permissions: Permissions::default(),
            calls: None,
            failures: None,
            p50_us: None,
            p99_us: None,
            problems,
        }
    }

    fn broken() -> Row {
        let problem = || {
            Problem::new(
                Code::ImportTooNew,
                "x",
                "built for hermes:hook 0.2.0; this hermes offers 0.1.x, and a good deal more is to be said about it",
                "update hermes, or install a version of the plugin built for this track",
            )
        };
        row(
            "from-the-future",
            State::Failed,
            "file:/home/someone/with/a/long/path/future.wasm",
            vec![problem(), problem(), problem()],
        )
    }

    fn rows() -> Vec<Row> {
        vec![
            row("redact-secrets", State::Loaded, "bundled", vec![]),
            broken(),
            row("summarize-output", State::Disabled, "bundled", vec![]),
        ]
    }

    fn listed_at(rows: &[Row], width: usize) -> Vec<String> {
        listed(rows, width, &Printer::new(&Global::default()))
    }

    #[test]
    fn the_list_fits_every_width_from_forty_columns() {
        for width in [40, 60, 80, 100, 120, 200] {
            for line in listed_at(&rows(), width) {
                assert!(line.chars().count() <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn at_eighty_columns_details_stand_below_their_row() {
        let lines = listed_at(&rows(), 80);
        assert!(lines[0].starts_with("NAME              VERSION  STATE     HOOKS"), "{lines:#?}");
        assert!(lines[2].starts_with("from-the-future   0.1.0    failed"), "{lines:#?}");
        assert!(lines[3].starts_with("  import-too-new: built for hermes:hook 0.2.0;"), "{lines:#?}");
        assert!(lines.iter().any(|line| line.starts_with("  next: update hermes")), "{lines:#?}");
        assert!(lines.contains(&"  (+2 more: hermes plugins why from-the-future)".to_owned()), "{lines:#?}");
    }

    #[test]
    fn on_a_wide_terminal_details_stand_beside() {
        let lines = listed_at(&rows(), 160);
        assert!(lines[0].ends_with("DETAIL"), "{lines:#?}");
        let broken = lines.iter().find(|line| line.starts_with("from-the-future")).unwrap();
        assert!(broken.contains("import-too-new: built"), "{lines:#?}");
    }

    #[test]
    fn a_list_without_problems_has_all_columns_at_eighty() {
        let rows = [row("summarize-output", State::Loaded, "bundled", vec![])];
        assert_eq!(
            listed_at(&rows, 80),
            [
                "NAME              VERSION  STATE   HOOKS      API    ORDER  SOURCE   DETAIL",
                "summarize-output  0.1.0    loaded  transform  0.1.0  1      bundled"
            ]
        );
    }

    #[test]
    fn a_source_keeps_its_kind_and_the_end_of_its_path() {
        assert_eq!(shortened("file:/a/long/path/of/rule.wasm", 16), "file:\u{2026}/rule.wasm");
        assert_eq!(shortened("bundled", 16), "bundled");
    }

    #[test]
    fn names_are_never_cut() {
        let name = "a-plugin-with-quite-a-long-name-that-fills-most-of-one-line";
        let lines = listed_at(&[row(name, State::Quarantined, "bundled", vec![])], 80);
        assert!(lines[1].starts_with(name) && lines[1].contains("quarantined"), "{lines:#?}");
    }
}
