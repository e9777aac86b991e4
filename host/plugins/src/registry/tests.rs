//! What is taken over from one generation to the next, and what serves where a version cannot load.

use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;

use hermes_home::home::{Home, LocateArgs};
use hermes_model::config::Config;
use hermes_output::policy::Policy;
use serde_json::Map;

use super::*;
use crate::digest::Digest;
use crate::generation::Entry;
use crate::section::embed;

/// A home with guests of the tests only.
struct Place {
    folder: tempfile::TempDir,
    home: Home,
    config: Config,
}

impl Place {
    fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::locate(&LocateArgs { home: Some(folder.path().join("home")), profile: None }).unwrap();
        home.ensure().unwrap();
        let place = Self { folder, home, config: Config::default() };
        place.change(|plugins| plugins.clear());
        place
    }

    fn change(&self, edit: impl FnOnce(&mut Vec<Entry>)) {
        let edit = |plugins: &mut Vec<Entry>| {
            edit(plugins);
            Ok::<_, Infallible>(())
        };
        store_of(&self.home).change("change", None, edit).unwrap();
    }

    /// Installs bytes under a name, in place of what has it.
    fn install(&self, name: &str, bytes: &[u8], grants: &[&str]) {
        let entry = Entry {
            name: name.parse().unwrap(),
            enabled: true,
            source: "file:/x".to_owned(),
            digest: Some(Digest::of(bytes)),
            grants: grants.iter().map(|grant| (*grant).to_owned()).collect(),
            settings: Map::new(),
        };
        let put = |plugins: &mut Vec<Entry>| {
            plugins.retain(|known| known.name != entry.name);
            plugins.push(entry);
            Ok::<_, Infallible>(())
        };
        store_of(&self.home).change("install", Some(bytes), put).unwrap();
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    fn open(&self) -> Plugins {
        Plugins::open(&self.home, &self.config, &self.cache(), Depth::Enabled).unwrap()
    }

    fn reopen(&self, plugins: &Plugins) -> Plugins {
        plugins.reopen(&self.home, &self.config).unwrap()
    }
}

fn manifest(name: &str, about: &str, permissions: &str) -> String {
    format!(
        "name = \"{name}\"\nversion = \"1.0.0\"\ndescription = \"{about}\"\nlicense = \"MIT\"\n\
         requires-hermes = \">=0.1\"\nhooks = [\"notify\"]\npermissions = [{permissions}]\n"
    )
}

const QUIET: &str = "quiet-notifier";

/// A guest of the tests: a notifier that asks for these permissions.
fn quiet(about: &str, permissions: &str) -> Vec<u8> {
    // `target/PROFILE/deps/NAME-HASH` is this test, `target/wasm32-wasip2/plugin/examples` the guests.
    let test = std::env::current_exe().unwrap();
    let path = test.ancestors().nth(3).unwrap().join("wasm32-wasip2/plugin/examples/quiet_notifier.wasm");
    let bytes = std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{} is not there ({error}): run `cargo xtask build-plugins`", path.display()));
    embed(&bytes, &manifest(QUIET, about, permissions))
}

fn broken(about: &str) -> Vec<u8> {
    embed(&wat::parse_str("(component)").unwrap(), &manifest(QUIET, about, ""))
}

fn only(plugins: &Plugins) -> Row {
    let mut rows = plugins.rows();
    assert_eq!(rows.len(), 1);
    rows.remove(0)
}

#[test]
fn what_did_not_change_is_taken_over_and_what_changed_is_not() {
    let place = Place::empty();
    place.install(QUIET, &quiet("one", ""), &[]);
    let first = place.open();
    let live = |plugins: &Plugins| Arc::as_ptr(&plugins.policy().notifiers[0]);
    place.change(|plugins| plugins.reverse());
    let second = place.reopen(&first);
    assert_ne!(first.generation(), second.generation());
    assert_eq!(live(&first), live(&second));
    place.install(QUIET, &quiet("two", ""), &[]);
    let third = place.reopen(&second);
    assert_ne!(live(&second), live(&third));
    assert_eq!(only(&third).description.as_deref(), Some("two"));
}

#[test]
fn a_version_that_cannot_load_leaves_the_last_good_one_for_as_long_as_there_is_none_better() {
    let place = Place::empty();
    place.install(QUIET, &quiet("one", ""), &[]);
    let first = place.open();
    let mut plugins = place.reopen(&first);
    for about in ["two", "three"] {
        place.install(QUIET, &broken(about), &[]);
        let next = place.reopen(&plugins);
        for plugins in [&next, &place.open()] {
            let row = only(plugins);
            assert_eq!((row.state, row.description.as_deref()), (State::Failed, Some(about)));
            let digest = Digest::of(&quiet("one", "")).to_string();
            assert_eq!(row.serving, Some(Serving { version: "1.0.0".to_owned(), digest }));
            assert_eq!(plugins.policy().notifiers.len(), 1);
        }
        assert!(Arc::ptr_eq(&next.policy().notifiers[0], &first.policy().notifiers[0]), "the one in memory goes on");
        plugins = next;
    }
    place.install(QUIET, &quiet("four", ""), &[]);
    assert_eq!((only(&place.reopen(&plugins)).state, only(&place.reopen(&plugins)).serving), (State::Loaded, None));
}

#[test]
fn a_permission_that_is_taken_away_is_not_had_by_an_older_version() {
    let place = Place::empty();
    place.install(QUIET, &quiet("one", "\"storage\""), &["storage"]);
    let granted = place.open();
    assert_eq!(only(&granted).state, State::Loaded);
    place.change(|plugins| plugins[0].grants.clear());
    for plugins in [place.reopen(&granted), place.open()] {
        let row = only(&plugins);
        assert_eq!((row.state, row.serving), (State::NeedsGrant, None));
        assert_eq!(plugins.policy().notifiers.len(), 0);
    }
    place.install(QUIET, &broken("two"), &[]);
    for plugins in [place.reopen(&granted), place.open()] {
        assert_eq!((only(&plugins).state, only(&plugins).serving), (State::Failed, None));
    }
}

#[test]
fn a_version_that_waits_for_a_permission_leaves_the_one_before_it_in_force() {
    let place = Place::empty();
    place.install(QUIET, &quiet("one", ""), &[]);
    let first = place.open();
    place.install(QUIET, &quiet("two", "\"storage\""), &[]);
    for plugins in [place.reopen(&first), place.open()] {
        let row = only(&plugins);
        assert_eq!((row.state, row.serving.is_some()), (State::NeedsGrant, true));
        let events = hermes_output::event::Notifier::warnings(&*plugins.policy());
        assert!(events[0].contains("(needs-grant), so version 1.0.0 is still in force"), "{events:?}");
        assert_eq!(Policy::warnings(&*plugins.policy()), [""; 0], "no text is a notifier's");
    }
}

#[test]
fn a_plugin_that_was_disabled_in_between_has_no_last_good_version() {
    let place = Place::empty();
    place.install(QUIET, &quiet("one", ""), &[]);
    let first = place.open();
    place.change(|plugins| plugins[0].enabled = false);
    let between = place.reopen(&first);
    place.install(QUIET, &broken("two"), &[]);
    // Also for a host that was asleep while it was disabled.
    for plugins in [place.reopen(&between), place.reopen(&first), place.open()] {
        assert_eq!((only(&plugins).state, only(&plugins).serving), (State::Failed, None));
    }
}

#[test]
fn a_list_says_what_a_host_that_starts_now_would_have_and_believes_passed_trials() {
    let place = Place::empty();
    place.install(QUIET, &quiet("one", ""), &[]);
    let survey = || Survey::open(&place.home, &place.config, &place.cache()).unwrap();
    let opened = only(&place.open());
    assert_eq!(survey().rows(), std::slice::from_ref(&opened));
    assert_eq!(survey().rows(), [opened], "also the second time");
    place.install(QUIET, &broken("two"), &[]);
    let row = survey().rows().remove(0);
    assert_eq!((row.state, row.serving.is_some()), (State::Failed, true));
    place.change(|plugins| plugins[0].enabled = false);
    assert_eq!(survey().rows().remove(0).state, State::Disabled);
}
