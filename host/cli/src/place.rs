//! Where a verb works: the home, its configuration, the cache folder. Looking creates nothing in the home.

use std::path::PathBuf;

use hermes_home::home::{Home, LocateArgs};
use hermes_home::{cache, config};
use hermes_model::config::Config;
use hermes_plugins::change::Editor;
use hermes_plugins::registry::{Depth, Plugins, Survey};

use crate::cli::Global;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::report::Report;

/// The home of one run with its configuration.
pub(crate) struct Place {
    pub(crate) home: Home,
    pub(crate) config: Config,
    pub(crate) cache_dir: PathBuf,
}

/// What the flags say about the home.
pub(crate) fn locate_args(global: &Global) -> LocateArgs {
    LocateArgs { home: global.home.clone(), profile: global.profile.clone() }
}

impl Place {
    /// Finds the home and reads its configuration.
    pub(crate) fn find(global: &Global) -> Result<Self, Report> {
        let home = Home::locate(&locate_args(global))?;
        let config = config::load(&home)?.config;
        Ok(Self { home, config, cache_dir: cache::dir() })
    }

    /// Opens the plugins in force. The first time they are compiled, which takes seconds.
    pub(crate) fn open(&self, depth: Depth, printer: &Printer) -> Result<Plugins, Report> {
        let _progress = Progress::start(printer, "loading plugins");
        Ok(Plugins::open(&self.home, &self.config, &self.cache_dir, depth)?)
    }

    /// Looks at the plugins as a host that starts now would find them. What passed its trial before is not loaded for it.
    pub(crate) fn survey(&self, printer: &Printer) -> Result<Survey, Report> {
        let _progress = Progress::start(printer, "loading plugins");
        Ok(Survey::open(&self.home, &self.config, &self.cache_dir)?)
    }

    /// What changes the plugins.
    pub(crate) fn editor(&self) -> Result<Editor<'_>, Report> {
        Ok(Editor::new(&self.home, &self.config, &self.cache_dir)?)
    }
}
