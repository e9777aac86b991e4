//! `hermes plugins`: what is in force and why not, and every change to it.

mod bench;
mod build;
mod change;
mod check;
mod disable;
mod doctor;
mod enable;
mod grant;
mod install;
mod list;
mod new;
mod order;
mod pack;
mod remove;
mod revoke;
mod rollback;
pub(crate) mod rows;
mod show;
mod test;
mod truth;
mod update;
mod watch;
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
    Grant(grant::GrantArgs),
    Revoke(revoke::RevokeArgs),
    Update(update::UpdateArgs),
    Rollback(rollback::RollbackArgs),
    New(new::NewArgs),
    Build(build::BuildArgs),
    Check(check::CheckArgs),
    Test(test::TestArgs),
    Bench(bench::BenchArgs),
    Watch(watch::WatchArgs),
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
        PluginsVerb::Grant(args) => grant::run(args, global, printer),
        PluginsVerb::Revoke(args) => revoke::run(args, global, printer),
        PluginsVerb::Update(args) => update::run(args, global, printer),
        PluginsVerb::Rollback(args) => rollback::run(args, global, printer),
        PluginsVerb::New(args) => new::run(args, printer),
        PluginsVerb::Build(args) => build::run(args, global, printer),
        PluginsVerb::Check(args) => check::run(args, printer),
        PluginsVerb::Test(args) => test::run(args, global, printer),
        PluginsVerb::Bench(args) => bench::run(args, global, printer),
        PluginsVerb::Watch(args) => watch::run(args, global, printer),
        PluginsVerb::Pack(args) => pack::run(args, printer),
        PluginsVerb::Doctor(args) => doctor::run(args, global, printer),
    }
}
