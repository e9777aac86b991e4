//! `hermes mcp`: what an agent connects to, and the MCP servers of a home.

mod add;
mod import;
mod list;
mod remove;
pub(crate) mod rows;
mod secrets;
mod serve;
mod test;
mod token;
mod wrap;

use clap::Subcommand;

use crate::cli::Global;
use crate::printer::Printer;
use crate::report::Report;

/// Serve agents over MCP, wrap a server, and change the servers
#[derive(Subcommand)]
#[command(
    disable_help_subcommand = true,
    after_help = "Examples:\n  hermes mcp serve\n  hermes mcp list\n  hermes mcp add git -- uvx mcp-server-git\n  \
                  hermes mcp import .mcp.json"
)]
pub(crate) enum McpVerb {
    List(list::ListArgs),
    Add(add::AddArgs),
    Remove(remove::RemoveArgs),
    Test(test::TestArgs),
    Import(import::ImportArgs),
    Serve(serve::ServeArgs),
    Wrap(wrap::WrapArgs),
}

/// Runs a verb.
pub(crate) fn run(verb: &McpVerb, global: &Global, printer: &Printer) -> Result<i32, Report> {
    match verb {
        McpVerb::List(args) => list::run(args, global, printer),
        McpVerb::Add(args) => add::run(args, global, printer),
        McpVerb::Remove(args) => remove::run(args, global, printer),
        McpVerb::Test(args) => test::run(args, global, printer),
        McpVerb::Import(args) => import::run(args, global, printer),
        McpVerb::Serve(args) => serve::run(args, global, printer),
        McpVerb::Wrap(args) => wrap::run(args, global, printer),
    }
}
