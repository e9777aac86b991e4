//! The policy of a home, opened in this process: the real components in the real host, without a program in between.

use std::path::PathBuf;
use std::sync::Arc;

use hermes_home::config;
use hermes_home::home::{Home, LocateArgs};
use hermes_model::context::{Context, Surface};
use hermes_output::captured::Captured;
use hermes_output::cut::Limits;
use hermes_output::exact::ExactValues;
use hermes_output::policy::Policy;
use hermes_output::reveal::{Revealed, reveal};
use hermes_output::stream::Stream;
use hermes_plugins::change::{Editor, Install};
use hermes_plugins::registry::{Depth, Plugins};

use crate::guests;
use crate::home::{TestHome, shared_cache};
use crate::manifests;

/// The home as the host finds it.
///
/// # Panics
/// It cannot be used.
pub fn located(home: &TestHome) -> Home {
    Home::locate(&LocateArgs { home: Some(home.root()), profile: None }).unwrap_or_else(|error| panic!("{error}"))
}

/// Opens the plugins of a home as a host does.
///
/// # Panics
/// They cannot be opened, or the configuration is wrong.
pub fn open(home: &TestHome) -> Plugins {
    let located = located(home);
    let config = config::load(&located).unwrap_or_else(|error| panic!("{error}")).config;
    let cache = shared_cache().join("hermes");
    Plugins::open(&located, &config, &cache, Depth::Enabled).unwrap_or_else(|error| panic!("{error}"))
}

/// Installs guests that load, each with its hook, and takes the bundled plugins out: only the guests are in force.
///
/// # Panics
/// A guest does not load.
pub fn only_guests(home: &TestHome, wanted: &[(&str, &str)]) {
    let sources = wanted.iter().map(|(name, hook)| guests::write(&home.work(), name, &manifests::plain(name, hook)));
    only(home, sources);
}

/// Installs plugins that load, files or folders, and takes the bundled ones out.
///
/// # Panics
/// One does not load.
pub fn only(home: &TestHome, sources: impl IntoIterator<Item = PathBuf>) {
    let located = located(home);
    let config = config::load(&located).unwrap_or_else(|error| panic!("{error}")).config;
    let cache = shared_cache().join("hermes");
    let editor = Editor::new(&located, &config, &cache).unwrap_or_else(|error| panic!("{error}"));
    for source in sources {
        let shown = source.display().to_string();
        let install = Install { source, name: None, allow_broken: false, digest: None, allow_private: false };
        drop(editor.install(&install).unwrap_or_else(|error| panic!("{shown}: {error}")));
    }
    for row in open(home).rows().into_iter().filter(|row| row.source == "bundled") {
        let name = row.name.parse().unwrap_or_else(|error| panic!("{error}"));
        drop(editor.disable(&name).unwrap_or_else(|error| panic!("{error}")));
    }
}

/// A text as a reply shows it, without a limit on its length.
pub fn viewed(policy: &dyn Policy, context: &Context, bytes: &[u8]) -> Revealed {
    let mut captured = Captured::new(8 * 1024 * 1024);
    captured.push(bytes);
    reveal(policy, context, &captured, &ExactValues::default(), &Limits::none())
}

/// A text as a reply shows it, of a command nobody knows anything about.
pub fn view(policy: &dyn Policy, text: &str) -> Revealed {
    viewed(policy, &Context::new(Surface::Foreground), text.as_bytes())
}

/// A text as it is shown while it arrives in these pieces.
pub fn streamed<'a>(policy: &dyn Policy, pieces: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut stream = Stream::new(Context::new(Surface::Stream), Arc::new(ExactValues::default()));
    let mut shown = String::new();
    for piece in pieces {
        shown.push_str(stream.push(policy, piece).text.as_str());
    }
    shown.push_str(stream.finish(policy).text.as_str());
    shown
}
