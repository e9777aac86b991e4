//! How plugins look as rows: in `list`, and alone in `show` and `why`.

use hermes_plugins::problem::Problem;
use hermes_plugins::registry::{Row, State};

use crate::printer::{Printer, Tone};
use crate::table;

/// The columns of `list`.
const HEADER: [&str; 10] = ["NAME", "VERSION", "STATE", "PROBLEM", "HOOKS", "API", "CALLS", "FAILED", "P99", "SOURCE"];
/// Where these stand in [`HEADER`].
const NAME: usize = 0;
const VERSION: usize = 1;
const STATE: usize = 2;
const PROBLEM: usize = 3;
const CALLS: usize = 6;
const P99: usize = 8;
const SOURCE: usize = 9;
/// Columns in the order in which they are given up where the width does not do. The name, the state and the problem stay.
const DISPENSABLE: [usize; 7] = [5, 9, 4, 8, 7, 6, 1];
/// The shortest a source is cut to before its column is given up: `file:` and some of the file's name.
const SOURCE_MIN: usize = 16;
/// The longest version that is not cut: a release, and the beginning of what follows it.
const VERSION_MAX: usize = 14;
/// The shortest a name is cut to.
const NAME_MIN: usize = 8;

/// The tone of a state.
pub(crate) fn tone(state: State) -> Tone {
    match state {
        State::Loaded => Tone::Good,
        State::Disabled => Tone::Faint,
        State::Failed | State::Missing => Tone::Bad,
        State::NeedsGrant | State::Quarantined => Tone::Warning,
    }
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

/// The table of `list`, at most `width` wide. Long names and sources are cut; states and codes never are.
pub(crate) fn listed(rows: &[Row], width: usize, printer: &Printer) -> Vec<String> {
    let mut cells: Vec<Vec<String>> = rows.iter().map(cells).collect();
    let columns = fitting(&mut cells, width);
    let header: Vec<&str> = columns.iter().map(|column| HEADER[*column]).collect();
    let chosen = cells_of(&cells, &columns);
    let mut lines = table::lines(&header, &chosen).into_iter();
    let mut out: Vec<String> = lines.next().into_iter().collect();
    // Names have no spaces, so a state is the first word of its kind behind them.
    out.extend(rows.iter().zip(lines).map(|(row, line)| {
        let name = line.split(' ').next().unwrap_or_default().len();
        let (name, rest) = line.split_at(name);
        format!("{name}{}", table::paint_word(printer, rest, row.state.word(), tone(row.state)))
    }));
    out
}

/// The cells of a row, all columns.
fn cells(row: &Row) -> Vec<String> {
    let api = row.api.hook.as_ref().or(row.api.host.as_ref()).cloned().unwrap_or_default();
    // The state says some problems already.
    let code = row.problems.first().map(|problem| problem.code.word()).filter(|code| *code != row.state.word());
    let number = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    vec![
        row.name.clone(),
        or_dash(ending(row.version.as_deref().unwrap_or_default(), VERSION_MAX)),
        row.state.word().to_owned(),
        or_dash(code.unwrap_or_default().to_owned()),
        hooks(row),
        or_dash(api),
        or_dash(number(row.calls)),
        or_dash(number(row.failures)),
        or_dash(row.p99_us.map(time).unwrap_or_default()),
        row.source.clone(),
    ]
}

/// A time in microseconds, in at most five characters.
pub(crate) fn time(us: u64) -> String {
    match us {
        0..1_000 => format!("{us}us"),
        1_000..10_000_000 => format!("{}ms", us / 1000),
        _ => format!("{}s", us / 1_000_000),
    }
}

fn cells_of(cells: &[Vec<String>], columns: &[usize]) -> Vec<Vec<String>> {
    cells.iter().map(|row| columns.iter().map(|column| row[*column].clone()).collect()).collect()
}

/// The columns that fit. Sources are shortened before a column is given up, and names when there is nothing else.
fn fitting(cells: &mut [Vec<String>], width: usize) -> Vec<usize> {
    let nothing = |column: usize| cells.iter().all(|row| row[column] == "-");
    // What nobody has is no column: there are no calls where no host was asked.
    let without = [(PROBLEM..=PROBLEM, nothing(PROBLEM)), (CALLS..=P99, nothing(CALLS))];
    let absent = |column: usize| without.iter().any(|(columns, none)| *none && columns.contains(&column));
    let mut columns: Vec<usize> = (0..HEADER.len()).filter(|column| !absent(*column)).collect();
    let wide = |columns: &[usize], cells: &[Vec<String>]| {
        let header: Vec<&str> = columns.iter().map(|column| HEADER[*column]).collect();
        table::natural_width(&header, &cells_of(cells, columns))
    };
    let longest = |cells: &[Vec<String>], column: usize| {
        cells.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let over = wide(&columns, cells).saturating_sub(width);
    if over > 0 {
        let target = longest(cells, SOURCE).saturating_sub(over).max(SOURCE_MIN);
        for row in cells.iter_mut() {
            row[SOURCE] = shortened(&row[SOURCE], target);
        }
    }
    for given_up in DISPENSABLE {
        let over = wide(&columns, cells).saturating_sub(width);
        if over == 0 {
            break;
        }
        columns.retain(|column| *column != given_up);
        // A few characters of a long name are worth less than a version.
        if given_up == DISPENSABLE[DISPENSABLE.len() - 2] {
            cut_names(cells, wide(&columns, cells).saturating_sub(width), longest(cells, NAME), NAME_MIN * 2);
        }
    }
    cut_names(cells, wide(&columns, cells).saturating_sub(width), longest(cells, NAME), NAME_MIN);
    debug_assert!(columns.contains(&STATE) && VERSION < STATE);
    columns
}

fn cut_names(cells: &mut [Vec<String>], over: usize, longest: usize, least: usize) {
    if over == 0 {
        return;
    }
    let target = longest.saturating_sub(over).max(least);
    for row in cells.iter_mut() {
        row[NAME] = ending(&row[NAME], target);
    }
}

/// A text in at most `max` characters: its beginning.
fn ending(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(max.saturating_sub(1)).collect();
    format!("{kept}\u{2026}")
}

/// A path in at most `max` characters: its end.
pub(crate) fn beginning(text: &str, max: usize) -> String {
    let count = text.chars().count();
    if count <= max {
        return text.to_owned();
    }
    let kept: String = text.chars().skip(count - max.saturating_sub(1)).collect();
    format!("\u{2026}{kept}")
}

/// A source in at most `max` characters: its kind, and the end of its path, where the file's name is.
fn shortened(source: &str, max: usize) -> String {
    let count = source.chars().count();
    if count <= max {
        return source.to_owned();
    }
    match source.split_once(':') {
        Some((kind, path)) => format!("{kind}:{}", beginning(path, max.saturating_sub(kind.chars().count() + 1))),
        None => ending(source, max),
    }
}

/// What is wrong, below the table: what has the same code and the same remedy stands together.
pub(crate) fn grouped(rows: &[Row], width: usize, printer: &Printer) -> Vec<String> {
    let mut groups: Vec<(&Problem, Vec<&Row>)> = Vec::new();
    for row in rows {
        let Some(first) = row.problems.first() else { continue };
        match groups.iter_mut().find(|(known, _)| (known.code, &known.next) == (first.code, &first.next)) {
            Some((_, members)) => members.push(row),
            None => groups.push((first, vec![row])),
        }
    }
    let mut out = Vec::new();
    for (problem, members) in groups {
        let tone = members.first().map_or(Tone::Bad, |row| tone(row.state));
        out.push(printer.paint(tone, problem.code.word()));
        for row in members {
            let message = row.problems.first().map(|problem| problem.message.as_str()).unwrap_or_default();
            out.extend(wrapped("  ", "    ", &format!("{}: {message}", row.name), width));
            if let Some(serving) = &row.serving {
                out.extend(wrapped("    ", "    ", &format!("version {} is still in force", serving.version), width));
            }
            let more = row.problems.len() - 1;
            if more > 0 {
                let text = format!("{more} more: `hermes plugins why {}`", row.name);
                out.extend(wrapped("    ", "    ", &text, width));
            }
        }
        out.extend(wrapped("  next: ", "    ", &problem.next, width));
    }
    out
}

/// A paragraph in which a word that fits no line is cut.
fn wrapped(first: &str, indent: &str, text: &str, width: usize) -> Vec<String> {
    let longest = width.saturating_sub(first.len().max(indent.len()));
    let words: Vec<String> = text.split_whitespace().map(|word| beginning(word, longest)).collect();
    table::paragraph(first, indent, &words.join(" "), width)
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
pub(crate) mod tests {
    use hermes_model::hook::Hook;
    use hermes_plugins::problem::Code;
    use hermes_plugins::registry::{Api, Permissions, Serving};

    use super::*;
    use crate::cli::Global;

    pub(crate) fn row(name: &str, state: State, source: &str, problems: Vec<Problem>) -> Row {
        Row {
            name: name.to_owned(),
            version: Some("0.1.0".to_owned()),
            state,
            enabled: state != State::Disabled,
            order: 1,
            hooks: vec![Hook::Transform],
            api: Api { hook: Some("0.1.0".to_owned()), host: None },
            source: source.to_owned(),
            digest: None,
            description: None,
            permissions: Permissions::default(),
            serving: None,
            calls: None,
            failures: None,
            p50_us: None,
            p99_us: None,
            problems,
        }
    }

    fn future(name: &str) -> Row {
        let problem = |subject: &str| {
            Problem::new(
                Code::ImportTooNew,
                subject,
                "built for hermes:hook 0.2.0; this hermes offers 0.1.x, and a good deal more is to be said about it",
                "update hermes, or install a version of the plugin built for this track",
            )
        };
        row(name, State::Failed, "file:/home/someone/with/a/long/path/future.wasm", vec![problem("x"), problem("y")])
    }

    /// A row in every state, as a host has them that ran for a while.
    fn every_state() -> Vec<Row> {
        let problem = |code, message: &str, next: &str| vec![Problem::new(code, "x", message, next)];
        let mut rows = vec![
            row("redact-secrets", State::Loaded, "bundled", vec![]),
            row("summarize-output", State::Disabled, "bundled", vec![]),
            future("from-the-future"),
            future("also-from-the-future"),
            row(
                "mask-ids",
                State::Missing,
                "file:/home/me/mask-ids-1.2.3.wasm",
                problem(
                    Code::MissingFile,
                    "there is no file '/home/me/.hermes/plugins/store/0123456789abcdef0123456789abcdef.wasm': check it",
                    "install it again: `hermes plugins install /home/me/mask-ids-1.2.3.wasm`",
                ),
            ),
            row(
                "pager",
                State::NeedsGrant,
                "file:/home/me/pager.wasm",
                problem(
                    Code::NeedsGrant,
                    "it asks for http:events.example.com, which is not granted",
                    "`hermes plugins grant pager http:events.example.com`",
                ),
            ),
            row(
                "traps-on-text",
                State::Quarantined,
                "file:/home/me/traps-on-text.wasm",
                problem(
                    Code::Quarantined,
                    "it failed 5 times in ten minutes, last by trap; it is tried again in 60 s",
                    "`hermes plugins enable traps-on-text` tries it at once",
                ),
            ),
        ];
        rows[2].serving = Some(Serving { version: "0.0.9".to_owned(), digest: format!("sha256:{}", "0".repeat(64)) });
        rows
    }

    fn with_figures(mut rows: Vec<Row>) -> Vec<Row> {
        for (index, row) in rows.iter_mut().enumerate() {
            let n = index as u64 + 1;
            row.calls = Some(1_234_567 * n);
            row.failures = Some(n * 3);
            row.p50_us = Some(80 * n);
            row.p99_us = Some(700 * n);
        }
        rows
    }

    fn printer() -> Printer {
        Printer::new(&Global::default())
    }

    fn whole(rows: &[Row], width: usize) -> String {
        let mut lines = listed(rows, width, &printer());
        lines.push(String::new());
        lines.extend(grouped(rows, width, &printer()));
        lines.join("\n")
    }

    #[test]
    fn the_list_fits_every_width_from_forty_columns() {
        let name = "a-plugin-with-quite-a-long-name-that-fills-most-of-one-line";
        let mut rows = every_state();
        rows.push(row(name, State::Quarantined, "file:/x", vec![]));
        rows[0].version = Some("1.0.0-alpha.1.of.a.long.kind+build.4711".to_owned());
        for rows in [rows.clone(), with_figures(rows)] {
            for width in [40, 60, 80, 100, 120, 200] {
                for line in whole(&rows, width).lines() {
                    assert!(line.chars().count() <= width, "{width}: {line}");
                }
            }
        }
    }

    #[test]
    fn states_and_codes_are_whole_at_every_width() {
        for width in [40, 60, 80, 100] {
            let rows = with_figures(every_state());
            for (row, line) in rows.iter().zip(&listed(&rows, width, &printer())[1..]) {
                let words: Vec<&str> = line.split_whitespace().collect();
                assert!(words.contains(&row.state.word()), "{width}: {line}");
                let code = row.problems.first().map_or(row.state.word(), |problem| problem.code.word());
                assert!(words.contains(&code), "{width}: {line}");
            }
        }
    }

    #[test]
    fn every_state_at_eighty_columns_from_the_disk() {
        insta::assert_snapshot!(whole(&every_state(), 80));
    }

    #[test]
    fn every_state_at_eighty_columns_from_a_host() {
        insta::assert_snapshot!(whole(&with_figures(every_state()), 80));
    }

    #[test]
    fn a_list_without_problems_has_all_columns_at_eighty() {
        let rows = [row("summarize-output", State::Loaded, "bundled", vec![])];
        assert_eq!(
            listed(&rows, 80, &printer()),
            [
                "NAME              VERSION  STATE   HOOKS      API    SOURCE",
                "summarize-output  0.1.0    loaded  transform  0.1.0  bundled"
            ]
        );
    }

    #[test]
    fn a_source_keeps_its_kind_and_the_end_of_its_path() {
        assert_eq!(shortened("file:/a/long/path/of/rule.wasm", 16), "file:\u{2026}/rule.wasm");
        assert_eq!(shortened("bundled", 16), "bundled");
    }

    #[test]
    fn a_state_is_coloured_and_a_name_that_is_the_same_word_is_not() {
        let printer = Printer::new(&Global { color: crate::cli::Color::Always, ..Global::default() });
        let lines = listed(&[row("loaded", State::Loaded, "bundled", vec![])], 80, &printer);
        assert!(lines[1].starts_with("loaded  ") && lines[1].contains("\u{1b}[32mloaded\u{1b}"), "{lines:?}");
    }

    #[test]
    fn times_are_short() {
        let times = [0, 999, 1_000, 9_999_999, 10_000_000].map(time);
        assert_eq!(times, ["0us", "999us", "1ms", "9999ms", "10s"]);
    }
}
