//! The chain as whoever decides about events, with real notifiers in a real home.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hermes_home::home::{Home, LocateArgs};
use hermes_model::config::{Config, PluginConfig};
use hermes_model::context::{Context, Surface};
use hermes_output::event::{Suppressed, decide};
use hermes_output::exact::ExactValues;
use hermes_output::policy::{Policy, Window};
use hermes_output::reveal::reveal_text;
use hermes_output::visible::Visible;

use super::*;
use crate::digest::Digest;
use crate::generation::{BUNDLED, Entry};
use crate::lab;
use crate::registry::{Depth, Plugins, State, store_of};
use crate::section::embed;
use crate::strikes::STRIKES_MAX;

const OBEYS: &str = "obeys-text";
const QUIET: &str = "quiet-notifier";

/// A guest of the tests, with a manifest and these canaries inside.
fn guest(name: &str, canaries: &str) -> Vec<u8> {
    // `target/PROFILE/deps/NAME-HASH` is this test, `target/wasm32-wasip2/plugin/examples` the guests.
    let test = std::env::current_exe().unwrap();
    let file = format!("wasm32-wasip2/plugin/examples/{}.wasm", name.replace('-', "_"));
    let path = test.ancestors().nth(3).unwrap().join(file);
    let bytes = std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{} is not there ({error}): run `cargo xtask build-plugins`", path.display()));
    embed(&bytes, &format!("{}{canaries}", manifest(name)))
}

fn manifest(name: &str) -> String {
    format!(
        "name = \"{name}\"\nversion = \"1.0.0\"\ndescription = \"d\"\nlicense = \"MIT\"\nrequires-hermes = \">=0.1\"\n\
         hooks = [\"notify\"]\n"
    )
}

/// A home with these plugins only, in this order.
struct Place {
    folder: tempfile::TempDir,
    home: Home,
    config: Config,
}

impl Place {
    fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("home");
        let home = Home::locate(&LocateArgs { home: Some(root), profile: None }).unwrap();
        home.ensure().unwrap();
        let place = Self { folder, home, config: Config::default() };
        place.change(|plugins| plugins.clear());
        place
    }

    fn with(guests: &[&str]) -> Self {
        let place = Self::empty();
        for name in guests {
            place.install(name, &guest(name, ""));
        }
        place
    }

    fn install(&self, name: &str, bytes: &[u8]) {
        let digest = Digest::of(bytes);
        let entry = Entry {
            name: name.parse().unwrap(),
            enabled: true,
            source: "file:/x".to_owned(),
            digest: Some(digest),
            grants: Vec::new(),
            settings: serde_json::Map::new(),
        };
        store_of(&self.home).change("install", Some(bytes), |plugins| put(plugins, entry)).unwrap();
    }

    fn change(&self, edit: impl FnOnce(&mut Vec<Entry>)) {
        let edit = |plugins: &mut Vec<Entry>| {
            edit(plugins);
            Ok::<_, Infallible>(())
        };
        store_of(&self.home).change("change", None, edit).unwrap();
    }

    fn require(mut self, name: &str) -> Self {
        self.config.policy.required.push(name.parse().unwrap());
        self
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    fn open(&self) -> Plugins {
        Plugins::open(&self.home, &self.config, &self.cache(), Depth::Enabled).unwrap()
    }
}

fn put(plugins: &mut Vec<Entry>, entry: Entry) -> Result<(), Infallible> {
    plugins.push(entry);
    Ok(())
}

fn visible(chain: &Chain, text: &str) -> Visible {
    reveal_text(chain, &Context::new(Surface::Completion), text, &ExactValues::default()).text
}

fn event(chain: &Chain, text: &str) -> Event {
    Event {
        id: "evt-7".to_owned(),
        kind: EventKind::Completion,
        process: Some(ProcessId::from_random([7; 6])),
        command: visible(chain, "make"),
        owner: Owner::new("build"),
        at: UNIX_EPOCH + Duration::from_millis(1_234_567),
        status: Some(Status::Exited(2)),
        output: visible(chain, text),
        output_cut: false,
        pattern: None,
        suppressed: 0,
        hidden: false,
        policy: hermes_model::report::PolicyReport::default(),
    }
}

/// What becomes of an event with this text.
fn asked(chain: &Chain, text: &str) -> (Event, Option<Suppressed>) {
    decide(chain, chain, 7, event(chain, text), &ExactValues::default())
}

#[test]
fn an_event_is_delivered_rewritten_or_suppressed_as_the_notifier_says() {
    let chain = Place::with(&[OBEYS]).open().policy();

    let (event, suppressed) = asked(&chain, "made");
    assert_eq!((event.output.as_str(), suppressed), ("made", None));
    assert_eq!((event.policy.warnings.len(), event.policy.transformed_by.len()), (0, 0));

    let (event, suppressed) = asked(&chain, "REWRITE it is made");
    assert_eq!((event.output.as_str(), suppressed), ("it is made", None));
    assert_eq!(event.policy.transformed_by, [OBEYS]);

    let (event, suppressed) = asked(&chain, "SUPPRESS nobody waits");
    let suppressed = suppressed.unwrap();
    assert_eq!((suppressed.by.as_str(), suppressed.reason.as_str()), (OBEYS, "nobody waits"));
    assert_eq!(event.output.as_str(), "SUPPRESS nobody waits");
}

#[test]
fn a_notifier_is_told_everything_there_is_to_know_about_an_event() {
    let chain = Place::with(&[OBEYS]).open().policy();
    let full = Event {
        kind: EventKind::Match,
        status: Some(Status::Signalled(15)),
        pattern: Some(visible(&chain, "err.*")),
        suppressed: 3,
        hidden: true,
        output_cut: true,
        ..event(&chain, "TELL me")
    };
    let Ok(Verdict::Rewrite(seen)) = chain.decide(0, 42, &full) else { panic!("it tells what it saw") };
    insta::assert_snapshot!(seen, @r#"
    Event {
        id: "evt-7",
        seq: 42,
        kind: "match",
        source: "proc_070707070707",
        command: "make",
        owner: "build",
        at_ms: 1234567,
        status: "signalled",
        exit_code: Some(
            143,
        ),
        text: "TELL me",
        pattern: Some(
            "err.*",
        ),
        labels: [
            (
                "suppressed",
                "3",
            ),
            (
                "hidden",
                "true",
            ),
            (
                "output-cut",
                "true",
            ),
        ],
    }
    "#);
}

#[test]
fn an_event_about_no_process_has_no_source_no_status_and_no_exit_code() {
    let chain = Place::empty().open().policy();
    let about_none = Event {
        kind: EventKind::Server,
        process: None,
        status: None,
        at: SystemTime::UNIX_EPOCH - Duration::from_secs(1),
        ..event(&chain, "text")
    };
    let told = told(1, &about_none);
    assert_eq!((told.source.as_str(), told.status.as_str(), told.exit_code), ("", "", None));
    assert_eq!((told.kind.as_str(), told.at_ms, told.labels.len()), ("server", 0, 0));
}

#[test]
fn notifiers_are_asked_in_the_order_of_the_generation() {
    for (order, first) in [([OBEYS, QUIET], OBEYS), ([QUIET, OBEYS], QUIET)] {
        let chain = Place::with(&order).open().policy();
        assert_eq!((chain.notifiers(), chain.notifier_name(0)), (2, first));
        let done = Event { status: Some(Status::Exited(0)), ..event(&chain, "SUPPRESS mine") };
        let (_, suppressed) = decide(&*chain, &*chain, 1, done, &ExactValues::default());
        assert_eq!(suppressed.unwrap().by, first);
    }
}

#[test]
fn a_disabled_notifier_is_not_asked_and_nothing_is_said_of_it() {
    let place = Place::with(&[OBEYS, QUIET]);
    place.change(|plugins| plugins[0].enabled = false);
    let chain = place.open().policy();
    assert_eq!((chain.notifiers(), chain.notifier_name(0)), (1, QUIET));
    let (event, suppressed) = asked(&chain, "SUPPRESS mine");
    assert_eq!((suppressed, event.policy.warnings.len()), (None, 0));
}

#[test]
fn a_notifier_without_an_answer_delivers_and_is_named_with_why() {
    let mut place = Place::with(&[OBEYS]);
    let mut config = PluginConfig::default();
    config.limits.call = Some(Duration::from_millis(50));
    place.config.plugins.insert(OBEYS.parse().unwrap(), config);
    let plugins = place.open();
    let chain = plugins.policy();
    for (text, code) in
        [("BOOM secret", "trap"), ("LOOP secret", "timeout"), ("FLOOD", "output-limit"), ("FAIL secret", "no-idea")]
    {
        let (event, suppressed) = asked(&chain, text);
        assert_eq!((event.output.as_str(), suppressed), (text, None));
        let warning = format!("notifier obeys-text was skipped ({code}); see `hermes plugins why obeys-text`");
        assert_eq!(event.policy.warnings, [warning]);
    }
    assert_eq!(asked(&chain, "REWRITE as ever").0.output.as_str(), "as ever");
    let row = &plugins.rows()[0];
    assert_eq!((row.calls, row.failures), (Some(5), Some(4)));
}

#[test]
fn a_notifier_that_traps_too_often_is_quarantined_and_events_are_delivered_without_it() {
    let place = Place::with(&[OBEYS]).require(OBEYS);
    let plugins = place.open();
    let chain = plugins.policy();
    for _ in 1..STRIKES_MAX {
        drop(asked(&chain, "BOOM"));
        // A failure of its own words is no strike.
        drop(asked(&chain, "FAIL"));
    }
    assert_eq!(plugins.rows()[0].state, State::Loaded);
    assert_eq!(Policy::warnings(&*chain), [""; 0]);
    drop(asked(&chain, "BOOM"));
    assert_eq!(plugins.rows()[0].state, State::Quarantined);
    let (event, suppressed) = asked(&chain, "SUPPRESS mine");
    assert_eq!((event.output.as_str(), suppressed), ("SUPPRESS mine", None));
    let warning = "notifier obeys-text was skipped (quarantined); see `hermes plugins why obeys-text`";
    assert_eq!(event.policy.warnings, [warning]);

    // The next host knows, and says so with every text; but an answer of a notifier is no reason to withhold one.
    let chain = place.open().policy();
    assert_eq!(asked(&chain, "SUPPRESS mine").0.policy.warnings, [warning]);
    let required = "the policy requires notifier obeys-text, which is not in force (quarantined); see `hermes plugins \
                    why obeys-text`";
    assert_eq!(Policy::warnings(&*chain), [required]);
    assert_eq!(visible(&chain, "shown").as_str(), "shown");
}

#[test]
fn a_notifier_that_is_enabled_and_cannot_load_is_named_in_each_event() {
    let place = Place::empty();
    place.install("broken", &embed(&wat::parse_str("(component)").unwrap(), &manifest("broken")));
    let chain = place.open().policy();
    assert_eq!(chain.notifiers(), 0);
    let (event, _) = asked(&chain, "made");
    assert_eq!(event.policy.warnings, ["notifier broken is not in force (no-hooks); see `hermes plugins why broken`"]);
    assert_eq!(Policy::warnings(&*chain), [""; 0], "what is shown of a command is not for a notifier to change");
}

#[test]
fn a_required_notifier_that_is_not_in_force_withholds_nothing_and_every_text_and_event_says_so() {
    let broken = embed(&wat::parse_str("(component)").unwrap(), &manifest("broken"));
    for (enabled, code) in [(true, "no-hooks"), (false, "disabled")] {
        let place = Place::empty().require("broken");
        place.install("broken", &broken);
        place.change(|plugins| plugins[0].enabled = enabled);
        let plugins = place.open();
        let chain = plugins.policy();
        let warning = format!(
            "the policy requires notifier broken, which is not in force ({code}); see `hermes plugins why broken`"
        );
        assert_eq!(visible(&chain, "shown").as_str(), "shown");
        let warnings = Policy::warnings(&*chain);
        assert_eq!(warnings, [warning]);
        assert_eq!(asked(&chain, "made").0.policy.warnings, warnings);
        assert_eq!(plugins.withheld(), []);
    }
}

#[test]
fn a_required_plugin_that_does_not_say_it_is_a_notifier_withholds() {
    let place = Place::empty().require("broken");
    place.install("broken", &wat::parse_str("(component)").unwrap());
    let window = Window { text: "text", fresh_from: 0, front_cut: false, last: true };
    let withheld = place.open().policy().redact(&Context::new(Surface::Foreground), &window).unwrap_err();
    assert_eq!((withheld.plugin.as_str(), withheld.code.as_str()), ("broken", "manifest"));
}

#[test]
fn a_quarantine_that_is_over_withholds_no_longer_though_nobody_called_the_plugin_since() {
    let name = crate::bundled::names().next().unwrap();
    let (_, digest) = crate::bundled::component(&name).unwrap();
    let place = Place::empty().require(name.as_str());
    let entry = Entry {
        name,
        enabled: true,
        source: BUNDLED.to_owned(),
        digest: None,
        grants: Vec::new(),
        settings: serde_json::Map::new(),
    };
    place.change(|plugins| plugins.push(entry));
    let book = place.home.plugins_dir().join("strikes.json");
    let quarantined = |until: u64| {
        let standing = serde_json::json!({"standing": "quarantined", "until": until, "times": 1, "cause": "trap"});
        std::fs::write(&book, serde_json::json!({ digest.to_string(): standing }).to_string()).unwrap();
        let chain = place.open().policy();
        let window = Window { text: "text", fresh_from: 0, front_cut: false, last: true };
        chain.redact(&Context::new(Surface::Foreground), &window).map(drop).map_err(|withheld| withheld.code)
    };
    assert_eq!(quarantined(u64::MAX), Err("quarantined".to_owned()));
    assert_eq!(quarantined(1), Ok(()));
}

#[test]
fn a_notifier_passes_its_test_with_a_canary_for_each_verdict() {
    let canary = |verdict: &str, text: &str| {
        format!("[[canary]]\nname = \"{verdict}\"\ntext = \"{text}\"\nverdict = \"{verdict}\"\n")
    };
    let canaries =
        canary("deliver", "made") + &canary("rewrite", "REWRITE it is made") + &canary("suppress", "SUPPRESS it");
    let folder = tempfile::tempdir().unwrap();
    let report = test_of(folder.path(), &guest(OBEYS, &canaries));
    assert!(report.ok(), "{:?}", report.cases);
    assert!(report.cases.iter().any(|case| case.name == "canary: suppress"), "{:?}", report.cases);

    let report = test_of(folder.path(), &guest(OBEYS, &canary("deliver", "SUPPRESS it")));
    let wrong: Vec<_> = report.cases.iter().filter(|case| !case.ok).map(|case| case.name.as_str()).collect();
    assert_eq!(wrong, ["it loads", "canary: deliver"]);
}

fn test_of(folder: &Path, bytes: &[u8]) -> lab::TestReport {
    let path = folder.join("subject.wasm");
    std::fs::write(&path, bytes).unwrap();
    lab::test(&path, &folder.join("cache"), lab::TestOptions { seed: 1, update: false }).unwrap()
}
