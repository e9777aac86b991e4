//! `hermes mcp wrap`: one server behind the policy, by a prefix in the agent's configuration.
//!
//! Stdout belongs to the protocol: everything hermes itself has to say goes to stderr.

use std::cell::Cell;
use std::ffi::{OsStr, OsString};
use std::io;
use std::net::SocketAddr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use hermes_mcp::http::server::{HttpError, HttpOptions, HttpServer};
use hermes_mcp::http::streams::Streams;
use hermes_mcp::wrap::sessions::Sessions;
use hermes_mcp::wrap::{self, Why, Wrapped};
use hermes_model::exit;
use hermes_model::id::ServerName;
use hermes_plugins::registry::{Depth, Plugins};
use hermes_process::environment::Environment;
use hermes_process::host::{self, Host};
use hermes_process::spec::SHOWN_MAX;
use tokio::sync::Notify;

use super::token::{self, TokenError};
use crate::cli::Global;
use crate::foreground::signals::{Caught, Signals};
use crate::host::current::Current;
use crate::place::Place;
use crate::printer::Printer;
use crate::report::Report;
use crate::usage;
use crate::view::Desk;

/// The example of an error of usage.
const EXAMPLE: &str = "hermes mcp wrap -- npx -y @modelcontextprotocol/server-github";
/// What a server is called whose program has no name that can be one.
const NAMELESS: &str = "server";

/// Put one MCP server behind the policy
///
/// Written before the server's command in an agent's configuration: the agent sees the same server, with every feature in
/// both directions, and secrets in what it says are masked. The server ends with the agent, and everything it started
/// with it. The exit code is the server's own, where it ends by itself; 126 and 127: it could not be started or was not
/// found, 128 and more: a signal ended it, or hermes.
#[derive(Args)]
#[command(
    override_usage = "hermes mcp wrap [OPTIONS] -- PROGRAM [ARG]...",
    after_help = "Examples:\n  hermes mcp wrap -- npx -y @modelcontextprotocol/server-github\n  \
                  hermes mcp wrap --name files --reply-bytes 0 -- mcp-server-filesystem /srv\n  \
                  hermes mcp wrap --http 127.0.0.1:8810 -- uvx mcp-server-git     a server for each session"
)]
pub(crate) struct WrapArgs {
    /// What the server is called, for plugins and messages; otherwise as its program.
    #[arg(long, value_name = "NAME")]
    name: Option<ServerName>,
    /// A variable of the server's environment, which otherwise is hermes' own; may be given more than once.
    #[arg(long, value_name = "NAME=VALUE")]
    env: Vec<OsString>,
    /// How long the texts of one result may be, in bytes, in place of output.reply_bytes; 0: as long as they are.
    #[arg(long, value_name = "BYTES")]
    reply_bytes: Option<u64>,
    /// Offer it over Streamable HTTP at an address of this machine, each session with a server of its own. Callers bring
    /// the token that stands in http-token in the home.
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// Let everybody on this machine call.
    #[arg(long, requires = "http")]
    no_token: bool,
    /// The server's program and its arguments.
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Why nothing is wrapped.
#[derive(Debug, thiserror::Error)]
enum WrapError {
    #[error("the runtime for processes cannot start; free threads or open files (ulimit -a)")]
    Runtime(#[source] io::Error),
    #[error("signals cannot be listened to")]
    Signals(#[source] io::Error),
    #[error(transparent)]
    Host(#[from] host::StartError),
    #[error(transparent)]
    Http(#[from] HttpError),
    #[error(transparent)]
    Token(#[from] TokenError),
}

pub(crate) fn run(args: &WrapArgs, global: &Global, printer: &Printer) -> Result<i32, Report> {
    if global.json {
        return Err(wrong("a wrapped server speaks JSON of its own on stdout; leave --json out"));
    }
    let Some((program, rest)) = args.program.split_first() else {
        return Err(wrong("no server is given: its program and arguments after '--'"));
    };
    let (environment, given) = environment(&args.env)?;
    let own_failure = |report: Report| report.exits(exit::HERMES_FAILED);
    let place = Place::find(global).map_err(own_failure)?;
    let plugins = place.open(Depth::Enabled, printer).map_err(own_failure)?;
    let failed = |error: WrapError| Report::of(&error).exits(exit::HERMES_FAILED);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| failed(WrapError::Runtime(error)))?;
    let wrapping = Wrapping { args, place: &place, printer, program, rest, environment, given };
    let code = runtime.block_on(wrapping.run(plugins));
    // A thread that reads stdin cannot be told to stop, and everything else has ended.
    runtime.shutdown_background();
    code.map_err(failed)
}

fn wrong(message: &str) -> Report {
    usage::wrong("mcp wrap", message, EXAMPLE)
}

/// The server's environment, hermes' own and what was given, and the names of what was. Nothing given is quoted in an
/// error: it may be a secret.
fn environment(given: &[OsString]) -> Result<(Environment, Vec<String>), Report> {
    let (mut environment, mut names) = (Environment::inherit(), Vec::new());
    for (index, pair) in given.iter().enumerate() {
        let bytes = pair.as_bytes();
        let Some(at) = bytes.iter().position(|byte| *byte == b'=').filter(|at| *at > 0) else {
            return Err(wrong(&format!("--env number {} is not NAME=VALUE", index + 1)));
        };
        let (name, value) = (bytes[..at].to_vec(), bytes[at + 1..].to_vec());
        names.push(String::from_utf8_lossy(&name).into_owned());
        environment.set(OsString::from_vec(name), OsString::from_vec(value));
    }
    Ok((environment, names))
}

/// What a server is called: what was said, or its program's name as far as it can be one.
fn name(given: Option<&ServerName>, program: &OsStr) -> String {
    let parsed = || Path::new(program).file_name()?.to_str()?.parse::<ServerName>().ok();
    given.cloned().or_else(parsed).map_or_else(|| NAMELESS.to_owned(), String::from)
}

/// The end of a run by signals: the first ends everything in good order, the second kills at once.
#[derive(Default)]
struct Stop {
    first: Notify,
    second: Notify,
    caught: Cell<Option<Caught>>,
}

impl Stop {
    /// Listens. Never returns.
    async fn listen(&self, signals: &mut Signals) {
        self.caught.set(Some(signals.next().await));
        self.first.notify_one();
        signals.next().await;
        self.second.notify_one();
        std::future::pending().await
    }

    /// The exit code of a run that was stopped.
    fn code(&self) -> i32 {
        self.caught.get().map_or(exit::OK, |caught| exit::SIGNAL_BASE + caught.number())
    }
}

/// One run of the verb.
struct Wrapping<'a> {
    args: &'a WrapArgs,
    place: &'a Place,
    printer: &'a Printer,
    program: &'a OsStr,
    rest: &'a [OsString],
    environment: Environment,
    /// The names of the variables that were given for the server.
    given: Vec<String>,
}

impl Wrapping<'_> {
    async fn run(self, plugins: Plugins) -> Result<i32, WrapError> {
        // Before anything runs: a signal in between would leave it behind.
        let mut signals = Signals::listen().map_err(WrapError::Signals)?;
        let desk = Desk::new(plugins.policy(), &self.environment);
        let current = Current::new(plugins, self.place);
        let wrapped = self.wrapped(Arc::clone(&current))?;
        let stop = Stop::default();
        let served = async {
            match self.args.http {
                None => Ok(self.stdio(wrapped, &desk, &stop).await),
                Some(addr) => self.http(wrapped, addr, &stop).await,
            }
        };
        tokio::select! {
            code = served => code,
            // Neither returns.
            () = stop.listen(&mut signals) => Ok(exit::HERMES_FAILED),
            () = current.keep_up() => Ok(exit::HERMES_FAILED),
        }
    }

    fn wrapped(&self, current: Arc<Current>) -> Result<Wrapped, WrapError> {
        let reply_bytes = self.args.reply_bytes.unwrap_or(self.place.config.output.reply_bytes);
        let printer = self.printer.clone();
        Ok(Wrapped {
            name: name(self.args.name.as_ref(), self.program),
            program: self.program.to_owned(),
            args: self.rest.to_vec(),
            environment: self.environment.clone(),
            cwd: None,
            host: Host::start_with(crate::SUPERVISOR)?,
            in_force: current,
            exact: Arc::new(wrap::secrets(&self.environment, &self.given)),
            kept: Arc::default(),
            reply_bytes: usize::try_from(reply_bytes).ok().filter(|bytes| *bytes > 0),
            complaints: Arc::new(move |text| printer.show_on_stderr(text)),
        })
    }

    /// One session, with the agent that started this.
    async fn stdio(&self, wrapped: Wrapped, desk: &Desk, stop: &Stop) -> i32 {
        let end = tokio::select! {
            end = wrap::run(wrapped, tokio::io::stdin(), tokio::io::stdout(), stop.first.notified()) => end,
            // Dropped, it kills the server.
            () = stop.second.notified() => return stop.code(),
        };
        if let Why::NotStarted(error) = &end.why {
            // The program's name is text that was typed, and a part of a secret is not recognised as one.
            let told = if self.program.len() > SHOWN_MAX {
                "the server could not be started; the name of its program is too long to be shown".to_owned()
            } else {
                Report::of(error).sentence()
            };
            self.printer.own(desk.text(&told).text.as_str());
        }
        if matches!(end.why, Why::Told) { stop.code() } else { end.why.exit_code() }
    }

    /// A session for each caller, until a signal.
    async fn http(&self, wrapped: Wrapped, addr: SocketAddr, stop: &Stop) -> Result<i32, WrapError> {
        let token = if self.args.no_token { None } else { Some(token::of(self.place)?) };
        let server = HttpServer::bind(HttpOptions::new(addr, token)).await?;
        self.printer.own(&format!("listening at {}", server.url()));
        let sessions = Arc::new(Sessions::new(wrapped));
        let begun = Arc::clone(&sessions);
        let connect = move |_| {
            let (near, far) = Streams::pair();
            let (read, write) = tokio::io::split(far);
            begun.begin(read, write);
            near
        };
        server.serve(connect, stop.first.notified()).await;
        sessions.shut_down(stop.second.notified()).await;
        Ok(stop.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_called_as_its_program_where_nobody_says_otherwise() {
        assert_eq!(name(None, OsStr::new("/usr/bin/npx")), "npx");
        assert_eq!(name(None, OsStr::new("mcp-server-git")), "mcp-server-git");
        assert_eq!(name(Some(&"github".parse().unwrap()), OsStr::new("npx")), "github");
        for odd in ["", "/", "..", "a b"] {
            assert_eq!(name(None, OsStr::new(odd)), NAMELESS, "{odd}");
        }
    }

    #[test]
    fn what_is_no_variable_is_refused_without_its_text() {
        let given = [OsString::from("A=b=c"), OsString::from("hunter2")];
        let (environment, names) = environment(&given[..1]).unwrap();
        assert_eq!(names, ["A"]);
        assert_eq!(environment.get("A"), Some(OsStr::new("b=c")));
        let refused = super::environment(&given).err().unwrap();
        assert!(!refused.sentence().contains("hunter2"));
        assert_eq!(refused.code(), exit::USAGE);
    }
}
