//! Events on the desktop: a real message bus, and a small listener in the place of the desktop.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use hermes_tests::home::TestHome;
use hermes_tests::hosted::Hosted;
use hermes_tests::wait;
use zbus::connection;
use zbus::zvariant::OwnedValue;

/// A notification as it was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shown {
    from: String,
    summary: String,
    body: String,
}

/// What a desktop does with notifications.
struct Desktop {
    shown: Arc<Mutex<Vec<Shown>>>,
}

#[zbus::interface(name = "org.freedesktop.Notifications")]
impl Desktop {
    #[expect(clippy::too_many_arguments, reason = "the interface is the desktop's")]
    fn notify(
        &self,
        app_name: String,
        _replaces: u32,
        _icon: String,
        summary: String,
        body: String,
        _actions: Vec<String>,
        _hints: std::collections::HashMap<String, OwnedValue>,
        _timeout: i32,
    ) -> u32 {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.push(Shown { from: app_name, summary, body });
        u32::try_from(shown.len()).unwrap()
    }

    fn get_capabilities(&self) -> Vec<String> {
        vec!["body".to_owned(), "body-markup".to_owned()]
    }

    fn get_server_information(&self) -> (String, String, String, String) {
        ("a test".to_owned(), "hermes".to_owned(), "1".to_owned(), "1.2".to_owned())
    }
}

/// A desktop that listens.
struct Listening {
    _connection: zbus::Connection,
    _runtime: tokio::runtime::Runtime,
}

/// A message bus of the test's own. It ends with the test.
struct Bus {
    daemon: Child,
    address: String,
}

impl Drop for Bus {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

impl Bus {
    fn start() -> Self {
        let mut daemon = Command::new("dbus-daemon")
            .args(["--session", "--nofork", "--nopidfile", "--print-address"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("dbus-daemon does not start ({error}): install the package 'dbus'"));
        let mut address = String::new();
        let mut said = BufReader::new(daemon.stdout.take().unwrap());
        said.read_line(&mut address).unwrap();
        assert!(address.starts_with("unix:"), "dbus-daemon names no address: {address:?}");
        Self { daemon, address: address.trim().to_owned() }
    }

    /// Listens in the place of the desktop, for as long as what comes back is kept.
    fn desktop(&self) -> (Arc<Mutex<Vec<Shown>>>, Listening) {
        let shown = Arc::<Mutex<Vec<Shown>>>::default();
        let desktop = Desktop { shown: Arc::clone(&shown) };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listening = runtime.block_on(async {
            connection::Builder::address(self.address.as_str())
                .and_then(|builder| builder.name("org.freedesktop.Notifications"))
                .and_then(|builder| builder.serve_at("/org/freedesktop/Notifications", desktop))
                .unwrap()
                .build()
                .await
                .unwrap()
        });
        (shown, Listening { _connection: listening, _runtime: runtime })
    }

    fn home(&self, more: &str) -> Hosted {
        let home = TestHome::new().with("DBUS_SESSION_BUS_ADDRESS", &self.address);
        Hosted::of(home, &format!("[notifications]\ndesktop = true\n{more}"))
    }
}

fn until_shown(shown: &Mutex<Vec<Shown>>, count: usize) -> Vec<Shown> {
    wait::until(&format!("{count} notifications"), wait::PATIENCE, || {
        let shown = shown.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (shown.len() >= count).then_some(shown)
    })
}

#[test]
fn an_event_is_shown_on_the_desktop_masked_without_markup_and_delivered_too() {
    let bus = Bus::start();
    let (shown, _listening) = bus.desktop();
    let hosted = bus.home("");
    assert!(hosted.run(&["doctor"]).expect(0).stdout.contains("desktop: notifications are shown"));
    drop(hosted.background(&[
        "--notify",
        "-c",
        "echo '<b>ghp_Zq8xPl0aMn3vKc7dRt5yWb2eHu9jLs4gTf6k</b> & more'; exit 2",
    ]));
    let shown = until_shown(&shown, 1).remove(0);
    assert_eq!(
        (shown.from.as_str(), shown.body.as_str()),
        ("hermes", "&lt;b&gt;[REDACTED:github-pat]&lt;/b&gt; &amp; more")
    );
    assert!(shown.summary.starts_with("failed (2): "), "{shown:?}");
    assert!(!shown.summary.contains("ghp_"), "{shown:?}");
    drop(hosted.events(1, &[]));
}

#[test]
fn what_is_suppressed_hidden_or_of_another_kind_is_not_shown() {
    let bus = Bus::start();
    let (shown, _listening) = bus.desktop();
    let hosted = bus.home("desktop_kinds = [\"completion\", \"heartbeat\"]\n");
    // Suppresses what ended well.
    hosted.home().install_guest("quiet-notifier", "notify");
    drop(hosted.background(&["--notify", "--", "true"]));
    drop(hosted.background(&["--watch", "ready", "-c", "echo ready; sleep 600"]));
    let matched = hosted.events(1, &[]).remove(0);
    assert_eq!(matched["kind"], "match", "{matched}");
    drop(hosted.background(&["--notify", "-c", "exit 9"]));
    // What came before it would have been shown before it.
    let all = until_shown(&shown, 1);
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all[0].summary.starts_with("failed (9)"), "{all:?}");
}

#[test]
fn without_a_bus_events_are_delivered_and_the_log_and_doctor_say_so_once() {
    let home = TestHome::new().with("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent/bus");
    let hosted = Hosted::of(home, "[notifications]\ndesktop = true\n");
    for _ in 0..3 {
        drop(hosted.background(&["--notify", "--", "true"]));
        drop(hosted.events(1, &[]));
    }
    let log = std::fs::read_to_string(hosted.root().join("logs").join("host.log")).unwrap();
    let said = log.matches("nobody shows notifications on this session's D-Bus").count();
    assert_eq!(said, 1, "{log}");
    let doctor = hosted.run(&["doctor"]).expect(0).stdout;
    assert!(doctor.contains("warn desktop: nobody shows notifications"), "{doctor}");
}

#[test]
fn nothing_is_shown_unless_the_setting_says_so() {
    let bus = Bus::start();
    let (shown, _listening) = bus.desktop();
    let home = TestHome::new().with("DBUS_SESSION_BUS_ADDRESS", &bus.address);
    let hosted = Hosted::of(home, "");
    drop(hosted.background(&["--notify", "--", "false"]));
    drop(hosted.events(1, &[]));
    assert!(hosted.events_in_the_end().is_empty());
    assert_eq!(*shown.lock().unwrap_or_else(PoisonError::into_inner), []);
    assert!(!hosted.run(&["doctor"]).expect(0).stdout.contains("desktop:"));
}
