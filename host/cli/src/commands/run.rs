//! `hermes run`: one command in the foreground, its output shown through the policy, its exit code passed on.
//!
//! The policy stands before the command starts: where there is none, nothing runs.

mod background;

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgGroup, Args};
use hermes_model::config::Config;
use hermes_model::context::Context;
use hermes_model::duration;
use hermes_model::exit;
use hermes_model::id::Owner;
use hermes_model::report::PolicyReport;
use hermes_model::status::Status;
use hermes_output::cut::Limits;
use hermes_output::visible::Visible;
use hermes_plugins::registry::Depth;
use hermes_process::environment::Environment;
use hermes_process::spec::{CommandSpec, Program, SHOWN_MAX, Stdin};
use serde::Serialize;

use crate::cli::Global;
use crate::foreground::{self, Finished, Reader, StartError, follow};
use crate::place::Place;
use crate::printer::Printer;
use crate::report::Report;
use crate::usage;
use crate::view::Desk;

/// The example of an error of usage.
const EXAMPLE: &str = "hermes run -- cargo test";
/// How many survivors a message names.
const NAMED_MAX: usize = 10;

/// Run a command and show its output, its secrets masked
///
/// The output is shown as it arrives. The exit code is the command's own; 124: its time ran out, 125: hermes failed,
/// 126 and 127: it could not be started or was not found, 128 and more: a signal ended it. Whatever the command left
/// running is ended with it.
#[derive(Args)]
#[command(
    group = ArgGroup::new("what").args(["shell_text", "program"]),
    override_usage = "hermes run [OPTIONS] -- PROGRAM [ARG]...\n       hermes run [OPTIONS] -c 'SHELL TEXT'",
    after_help = "Examples:\n  hermes run -- cargo test\n  hermes run -c 'make | tee build.log'\n  \
                  hermes run --view -- cargo build            what an agent would get\n  \
                  hermes run --timeout 30s --json -- npm test\n  \
                  hermes run -b --notify --watch 'ready' -- npm run dev"
)]
pub(crate) struct RunArgs {
    /// End the command and everything it started after this time, as in 500ms, 30s, 2m.
    #[arg(long, value_name = "TIME", value_parser = time_limit)]
    pub(crate) timeout: Option<Duration>,
    /// The folder to run in.
    #[arg(long, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// A variable of the command's environment; may be given more than once.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<OsString>,
    /// Who the command belongs to.
    #[arg(long, value_name = "ID")]
    pub(crate) owner: Option<String>,
    /// Let the command read what hermes reads, or, in the background, what `hermes send` sends; otherwise it reads nothing.
    #[arg(long)]
    pub(crate) stdin: bool,
    /// Run it in the background and print its id; `hermes ps` lists it.
    #[arg(short, long, conflicts_with = "view")]
    pub(crate) background: bool,
    /// Give it a terminal, of 30 rows and 120 columns where no size is given.
    #[arg(long, value_name = "ROWSxCOLS", num_args = 0..=1, require_equals = true, value_parser = super::send::size, requires = "background")]
    pub(crate) pty: Option<Option<(u16, u16)>>,
    /// Tell of its end: `hermes events`.
    #[arg(long, requires = "background")]
    pub(crate) notify: bool,
    /// Tell when it prints this text; may be given more than once.
    #[arg(long, value_name = "TEXT", requires = "background")]
    pub(crate) watch: Vec<String>,
    /// Tell what is new this often while it runs, at least 60s.
    #[arg(long, value_name = "TIME", value_parser = heartbeat, requires = "background")]
    pub(crate) heartbeat: Option<Duration>,
    /// Let it outlive a host that is killed, and the end of its agent.
    #[arg(long, requires = "background")]
    pub(crate) persist: bool,
    /// Wait, and print exactly what an agent would get.
    #[arg(long, conflicts_with = "json")]
    pub(crate) view: bool,
    /// A text for the shell that config.toml names.
    #[arg(short = 'c', value_name = "SHELL TEXT")]
    pub(crate) shell_text: Option<String>,
    /// The program and its arguments.
    #[arg(last = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<OsString>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Document {
    id: Option<String>,
    command: Visible,
    owner: Owner,
    pid: Option<i32>,
    status: Status,
    exit_code: Option<i32>,
    output: Visible,
    output_bytes: u64,
    output_cut: bool,
    duration_ms: Option<u64>,
    survivors: Vec<i32>,
    policy: PolicyReport,
}

pub(crate) fn run(args: &RunArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    let program = program(args)?;
    let environment = environment(&args.env)?;
    if args.background {
        return background::run(args, program, global, printer);
    }
    let own_failure = |report: Report| report.exits(exit::HERMES_FAILED);
    let place = Place::find(global).map_err(own_failure)?;
    let spec = spec(args, program, environment, &place.config);
    let plugins = place.open(Depth::Enabled, printer).map_err(own_failure)?;
    let desk = desk(Desk::new(plugins.policy(), &spec.environment), &spec);
    let limits =
        Limits { reply_bytes: usize::try_from(place.config.output.reply_bytes).unwrap_or(usize::MAX), rest: None };
    let long_name = has_long_name(&spec);
    let show = Show { desk, limits, printer, timeout: args.timeout, verbose: global.verbose > 0 };
    let live = !args.view && !global.json;
    let reader = live.then(|| show.reader());
    match foreground::run(spec, reader) {
        Ok(finished) if global.json => Ok(show.document(&finished)),
        Ok(finished) if args.view => Ok(show.view(&finished)),
        Ok(finished) => Ok(show.end_of_live(&finished)),
        Err(error) => Ok(show.not_started(&error, long_name)),
    }
}

/// Whether an error about this command would name a part of a name: a part of a secret is not recognised as one.
fn has_long_name(spec: &CommandSpec) -> bool {
    let program = match &spec.program {
        Program::Shell { shell, .. } => shell.as_os_str(),
        Program::Exec { program, .. } => program,
    };
    program.len() > SHOWN_MAX || spec.cwd.as_ref().is_some_and(|cwd| cwd.as_os_str().len() > SHOWN_MAX)
}

/// Reads how often; zero is never.
fn heartbeat(text: &str) -> Result<Duration, &'static str> {
    duration::parse(text).map_err(|_| "not a duration; write a number and a unit, as in '60s' or '5m'")
}

/// Reads the time limit.
pub(crate) fn time_limit(text: &str) -> Result<Duration, &'static str> {
    // Not the error's own words: it quotes a part of the text, and a part of a secret is not recognised as one.
    let limit = duration::parse(text)
        .map_err(|_| "not a duration; write a number and a unit, as in '500ms', '30s', '2m' or '1h'")?;
    if limit.is_zero() {
        return Err("a command needs more time than none; leave --timeout out for no limit");
    }
    Ok(limit)
}

fn program(args: &RunArgs) -> Result<ProgramAsked, Report> {
    match (&args.shell_text, args.program.split_first()) {
        (Some(text), _) => Ok(ProgramAsked::Shell(text.clone())),
        (None, Some((program, rest))) => Ok(ProgramAsked::Exec(program.clone(), rest.to_vec())),
        (None, None) => Err(usage::wrong(
            "run",
            "no command is given: a program and its arguments after '--', or a text for the shell after '-c'",
            EXAMPLE,
        )),
    }
}

/// What is to run; which shell is the configuration's.
enum ProgramAsked {
    Shell(String),
    Exec(OsString, Vec<OsString>),
}

/// The command's environment: hermes' own and what was given. Nothing given is quoted in an error: it may be a secret.
fn environment(given: &[OsString]) -> Result<Environment, Report> {
    let mut environment = Environment::inherit();
    for (index, pair) in given.iter().enumerate() {
        let bytes = pair.as_bytes();
        match bytes.iter().position(|b| *b == b'=') {
            Some(at) if at > 0 => {
                let (name, value) = (bytes[..at].to_vec(), bytes[at + 1..].to_vec());
                environment.set(OsString::from_vec(name), OsString::from_vec(value));
            }
            _ => {
                let message = format!("--env number {} is not NAME=VALUE", index + 1);
                return Err(usage::wrong("run", message, "hermes run --env CI=1 -- cargo test"));
            }
        }
    }
    Ok(environment)
}

fn spec(args: &RunArgs, program: ProgramAsked, environment: Environment, config: &Config) -> CommandSpec {
    let program = match program {
        ProgramAsked::Shell(text) => Program::Shell { shell: PathBuf::from(&config.terminal.shell), text },
        ProgramAsked::Exec(program, args) => Program::Exec { program, args },
    };
    CommandSpec {
        cwd: args.cwd.clone(),
        environment,
        timeout: args.timeout,
        term_grace: config.terminal.term_grace,
        owner: args.owner.clone().map_or_else(Owner::default, Owner::new),
        stdin: if args.stdin { Stdin::Inherit } else { Stdin::Null },
        ring_bytes: usize::try_from(config.output.ring_bytes).unwrap_or(usize::MAX),
        ..CommandSpec::new(program)
    }
}

/// The desk with what hooks are told of the command.
fn desk(mut desk: Desk, spec: &CommandSpec) -> Desk {
    let cwd = spec.cwd.as_deref().unwrap_or(Path::new("."));
    let cwd = std::path::absolute(cwd).unwrap_or_else(|_| cwd.to_owned());
    // `absolute` keeps a final `.`, which is no part of a folder's name.
    let cwd: PathBuf = cwd.components().collect();
    desk.context = Context {
        command: spec.display_command(),
        cwd: cwd.to_string_lossy().into_owned(),
        owner: spec.owner.clone(),
        ..desk.context
    };
    desk
}

/// Shows what a command printed and how it ended.
struct Show<'a> {
    desk: Desk,
    limits: Limits,
    printer: &'a Printer,
    timeout: Option<Duration>,
    verbose: bool,
}

impl Show<'_> {
    /// Shows the output as it arrives.
    fn reader(&self) -> Reader {
        let (mut desk, printer) = (self.desk.clone(), self.printer.clone());
        Box::new(move |id, chunks| {
            id.as_str().clone_into(&mut desk.context.source);
            follow::follow(&desk, chunks, |text| printer.show(text))
        })
    }

    /// The desk for views of a command that is over.
    fn desk_after(&self, finished: &Finished) -> Desk {
        let mut desk = self.desk.clone();
        desk.context.source = finished.id.to_string();
        match finished.ended.status {
            Status::Exited(code) => desk.context.exit_code = Some(code),
            Status::Signalled(signal) => desk.context.signal = u8::try_from(signal).ok(),
            _ => {}
        }
        // An exit is never invented, so one that there is not is said in a word.
        desk.context.labels.push(("status".to_owned(), finished.ended.status.kind().to_owned()));
        desk
    }

    fn end_of_live(&self, finished: &Finished) -> i32 {
        if let Some(followed) = &finished.followed {
            if !followed.at_line_start && self.printer.has_terminal() {
                // A failure is remembered by the printer.
                self.printer.end_line();
            }
            if let Some(withheld) = &followed.withheld {
                self.printer.own(&format!("output was withheld: {}", withheld.message));
            }
            self.say_masks(&followed.report);
            if let Some(error) = followed.failure() {
                // A failure of stdout is the printer's to tell.
                if !self.printer.has_failed() {
                    self.printer.own(&format!("the output could not be shown to its end: {error}"));
                }
                self.say_end(finished);
                return exit::HERMES_FAILED;
            }
        }
        self.say_end(finished);
        finished.exit_code()
    }

    fn view(&self, finished: &Finished) -> i32 {
        let revealed = self.desk_after(finished).view(&finished.ended.output(), &self.limits);
        // A failure is remembered by the printer.
        let _ = self.printer.show(&revealed.text);
        if self.printer.has_terminal() && !revealed.text.is_empty() && !revealed.text.as_str().ends_with('\n') {
            self.printer.end_line();
        }
        self.say_policy(&revealed.report);
        self.say_end(finished);
        finished.exit_code()
    }

    fn document(&self, finished: &Finished) -> i32 {
        let desk = self.desk_after(finished);
        let revealed = desk.view(&finished.ended.output(), &self.limits);
        let ended = &finished.ended;
        let code = finished.exit_code();
        self.say_policy(&revealed.report);
        self.say_end(finished);
        self.printer.document(&Document {
            id: Some(finished.id.to_string()),
            command: desk.text(&desk.context.command).text,
            owner: desk.context.owner.clone(),
            pid: Some(finished.pid),
            // A lost exit has no code, whatever hermes itself exits with.
            exit_code: ended.status.exit_code().map(|_| code),
            status: ended.status.clone(),
            output: revealed.text,
            output_bytes: revealed.output_bytes,
            output_cut: revealed.cut,
            duration_ms: u64::try_from(ended.duration.as_millis()).ok(),
            survivors: finished.swept.iter().chain(&finished.left).copied().collect(),
            policy: revealed.report,
        });
        code
    }

    /// A command that never ran. Its name is text that was typed, so it goes through the policy.
    fn not_started(&self, error: &StartError, long_name: bool) -> i32 {
        let code = error.exit_code();
        let told = |sentence: String| match long_name {
            true => {
                "the command could not be started; the name of its program or folder is too long to be shown".to_owned()
            }
            false => sentence,
        };
        let said = self.desk.text(&told(Report::of(error).sentence()));
        self.printer.own(said.text.as_str());
        if self.printer.is_json() {
            let status = match error.status() {
                Status::FailedToStart { reason, code } => {
                    Status::FailedToStart { reason: self.desk.text(&told(reason)).text.as_str().to_owned(), code }
                }
                other => other,
            };
            let nothing = self.desk.text("");
            self.printer.document(&Document {
                id: None,
                command: self.desk.text(&self.desk.context.command).text,
                owner: self.desk.context.owner.clone(),
                pid: None,
                status,
                exit_code: Some(code),
                output: nothing.text,
                output_bytes: 0,
                output_cut: false,
                duration_ms: None,
                survivors: Vec::new(),
                policy: said.report,
            });
        }
        code
    }

    /// What the policy did not do.
    fn say_policy(&self, report: &PolicyReport) {
        if let Some(withheld) = &report.withheld {
            self.printer.own(&format!("output was withheld: {}", withheld.message));
        }
        for warning in &report.warnings {
            self.printer.own(&format!("warning: {warning}"));
        }
        self.say_masks(report);
    }

    /// What was masked, for those who ask.
    fn say_masks(&self, report: &PolicyReport) {
        if self.verbose {
            let rules: Vec<String> =
                report.redactions.iter().map(|(rule, count)| format!("{rule} ({count})")).collect();
            let rules = if rules.is_empty() { "nothing".to_owned() } else { rules.join(", ") };
            self.printer.own(&format!("masked by generation {}: {rules}", report.generation));
        }
    }

    /// How the command ended, where its exit code alone would not say.
    fn say_end(&self, finished: &Finished) {
        match (&finished.ended.status, self.timeout) {
            (Status::TimedOut, Some(limit)) => self.printer.own(&format!(
                "the time limit of {} is up: the command and everything it started were ended",
                duration::display(limit)
            )),
            (Status::Lost(why), _) => self.printer.own(&format!("how the command ended is not known: {why}")),
            _ => {}
        }
        if let Some(text) =
            survivors(&finished.swept, "outlived the command and was ended", "outlived the command and were ended")
        {
            self.printer.own(&text);
        }
        if let Some(text) = survivors(&finished.left, "could not be ended", "could not be ended") {
            self.printer.own(&text);
        }
    }
}

/// `2 processes outlived the command and were ended: 4242, 4243`.
fn survivors(pids: &[i32], one: &str, many: &str) -> Option<String> {
    let mut named: Vec<String> = pids.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    if pids.len() > NAMED_MAX {
        named.push(format!("and {} more", pids.len() - NAMED_MAX));
    }
    let named = named.join(", ");
    match pids.len() {
        0 => None,
        1 => Some(format!("1 process {one}: {named}")),
        count => Some(format!("{count} processes {many}: {named}")),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Verb};

    fn parse(words: &[&str]) -> Result<RunArgs, clap::Error> {
        match Cli::try_parse_from(["hermes", "run"].iter().chain(words))?.verb {
            Verb::Run(args) => Ok(args),
            _ => panic!("not run"),
        }
    }

    #[test]
    fn a_time_limit_is_a_number_with_a_unit_and_more_than_nothing() {
        assert_eq!(parse(&["--timeout", "1m30s", "--", "x"]).unwrap().timeout, Some(Duration::from_secs(90)));
        for bad in ["30", "x", "", "0s"] {
            assert!(parse(&["--timeout", bad, "--", "x"]).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_shell_text_and_a_program_exclude_each_other() {
        assert!(parse(&["-c", "x", "--", "y"]).is_err());
        let args = parse(&["-c", "echo | cat"]).unwrap();
        assert!(matches!(program(&args), Ok(ProgramAsked::Shell(text)) if text == "echo | cat"));
    }

    #[test]
    fn no_command_is_an_error_of_usage_with_an_example() {
        let args = parse(&["--timeout", "1s"]).unwrap();
        let Err(report) = program(&args) else { panic!("nothing ran, and that was no error") };
        assert_eq!(report.code(), exit::USAGE);
        assert!(report.to_text(|_, word| word.to_owned()).contains(EXAMPLE));
    }

    #[test]
    fn a_variable_without_a_name_is_refused_without_quoting_it() {
        for bad in ["hunter2hunter2", "=hunter2hunter2"] {
            let Err(report) = environment(&["A=b=c".into(), bad.into()]) else { panic!("{bad} was taken") };
            let text = report.to_text(|_, word| word.to_owned());
            assert!(text.contains("--env number 2") && !text.contains("hunter2"), "{text}");
        }
        assert_eq!(environment(&["A=b=c".into()]).ok().unwrap().get("A"), Some("b=c".as_ref()));
    }

    #[test]
    fn a_wrong_time_limit_is_not_quoted_in_part() {
        let secret = "s".repeat(60);
        let Err(error) = parse(&["--timeout", &secret, "--", "x"]) else { panic!("taken as a time") };
        let text = error.to_string();
        // Whole, the policy can mask it; a part of it would pass.
        assert_eq!(text.replace(&secret, "").matches("sss").count(), 0, "{text}");
    }

    #[test]
    fn survivors_are_counted_and_named_up_to_a_limit() {
        assert_eq!(survivors(&[], "was", "were"), None);
        assert_eq!(survivors(&[4242], "was ended", "were"), Some("1 process was ended: 4242".to_owned()));
        let many: Vec<i32> = (1..=12).collect();
        assert!(survivors(&many, "was", "were").unwrap().ends_with("9, 10, and 2 more"));
    }
}
