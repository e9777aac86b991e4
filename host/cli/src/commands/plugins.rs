//! `hermes plugins`: what is in force and why not, and every change to it.

mod change;
mod check;
mod disable;
mod doctor;
mod enable;
mod install;
mod list;
mod new;
mod order;
mod pack;
mod remove;
mod rollback;
pub(crate) mod rows;
mod show;
mod test;
mod why;

use clap::Subcommand;

use crate::cli::Global;
use crate::printer::Printer;
use crate::report::Report;

/// See, change and make plugins
#[derive(Subcommand)]
#[command(
    disable_help_subcommand = true,
    after_help = "Examples:\n  hermes plugins list\n  hermes plugins why redact-secrets\n  \
                  hermes plugins install ./my-rule"
)]
pub(crate) enum PluginsVerb {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Why(why::WhyArgs),
    Install(install::InstallArgs),
    Remove(remove::RemoveArgs),
    Enable(enable::EnableArgs),
    Disable(disable::DisableArgs),
    Order(order::OrderArgs),
    Rollback(rollback::RollbackArgs),
    New(new::NewArgs),
    Check(check::CheckArgs),
    Test(test::TestArgs),
    Pack(pack::PackArgs),
    Doctor(doctor::DoctorArgs),
}

/// Runs a verb.
pub(crate) fn run(verb: &PluginsVerb, global: &Global, printer: &Printer) -> Result<i32, Report> {
    match verb {
        PluginsVerb::List(args) => list::run(args, global, printer),
        PluginsVerb::Show(args) => show::run(args, global, printer),
        PluginsVerb::Why(args) => why::run(args, global, printer),
        PluginsVerb::Install(args) => install::run(args, global, printer),
        PluginsVerb::Remove(args) => remove::run(args, global, printer),
        PluginsVerb::Enable(args) => enable::run(args, global, printer),
        PluginsVerb::Disable(args) => disable::run(args, global, printer),
        PluginsVerb::Order(args) => order::run(args, global, printer),
        PluginsVerb::Rollback(args) => rollback::run(args, global, printer),
        PluginsVerb::New(args) => new::run(args, printer),
        PluginsVerb::Check(args) => check::run(args, printer),
        PluginsVerb::Test(args) => test::run(args, global, printer),
        PluginsVerb::Pack(args) => pack::run(args, printer),
        PluginsVerb::Doctor(args) => doctor::run(args, global, printer),
    }
}
