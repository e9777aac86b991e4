//! The ledger as its users see it. Here is what the tests share: a home, a clock that is set, texts that were revealed.

mod crashes;
mod disk;
mod events;
mod history;
mod processes;
mod reading;
mod values;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use hermes_fakes::policy::Fake;
use hermes_home::home::{Home, LocateArgs};
use hermes_model::context::{Context, Surface};
use hermes_model::event::EventKind;
use hermes_model::id::{Owner, ProcessId};
use hermes_model::report::PolicyReport;
use hermes_model::status::Status;
use hermes_output::captured::Captured;
use hermes_output::event::Event;
use hermes_output::exact::ExactValues;
use hermes_output::reveal::reveal_text;
use hermes_output::visible::Visible;

use crate::checkpoint::{Checkpoint, LeaderIdentity};
use crate::event::{Claim, Claimed, Delivery, NewEvent};
use crate::host::HostIdentity;
use crate::live::handle::Ledger;
use crate::receipt::Receipt;

/// A clock that stands until it is set on.
#[derive(Clone)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.0.load(Ordering::SeqCst))
    }

    fn pass(&self, time: Duration) {
        self.0.fetch_add(u64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

/// A home in a folder of its own.
struct Place {
    folder: tempfile::TempDir,
    clock: Clock,
}

impl Place {
    fn new() -> Self {
        // An ordinary day of 2026.
        Self { folder: tempfile::tempdir().unwrap(), clock: Clock(Arc::new(AtomicU64::new(1_790_000_000_000))) }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn home(&self) -> Home {
        Home::locate(&LocateArgs { home: Some(self.root()), profile: None }).unwrap()
    }

    fn file(&self) -> PathBuf {
        self.root().join("state.db")
    }

    fn open(&self, marker: &str) -> Ledger {
        let clock = self.clock.clone();
        Ledger::open_with(&self.home(), host(marker), move || clock.now()).unwrap()
    }

    /// A home as it is after everybody was killed now: what was written to the file and its log, and nothing else.
    ///
    /// Copying ends the locks that this process has on the file, so nobody may write to it here any more.
    fn killed(&self) -> Self {
        let after = Self { folder: tempfile::tempdir().unwrap(), clock: self.clock.clone() };
        after.home().ensure().unwrap();
        for name in ["state.db", "state.db-wal"] {
            if name == "state.db" || self.root().join(name).exists() {
                fs::copy(self.root().join(name), after.root().join(name)).unwrap();
            }
        }
        after
    }

    fn names(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.root()) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

fn host(marker: &str) -> HostIdentity {
    HostIdentity {
        boot_id: "1f1b".into(),
        pid_namespace: 4_026_531_836,
        pid: 41,
        start_ticks: 77,
        marker: marker.into(),
    }
}

fn visible(text: &str) -> Visible {
    reveal_text(&Fake::nothing(), &Context::new(Surface::Completion), text, &ExactValues::default()).text
}

/// What was read, as text.
fn shown(captured: &Captured) -> String {
    assert_eq!(captured.dropped(), 0);
    String::from_utf8(captured.parts().head.into_owned()).unwrap()
}

fn id(number: u8) -> ProcessId {
    ProcessId::from_random([0, 0, 0, 0, 0xab, number])
}

fn checkpoint(number: u8, place: &Place) -> Checkpoint {
    Checkpoint {
        id: id(number),
        owner: Owner::new("agent"),
        command: visible("make all"),
        cwd: visible("/src"),
        leader: LeaderIdentity { pid: 1000 + i32::from(number), start_ticks: 5000 },
        pty: true,
        persist: false,
        notify: true,
        completion_bytes: 2000,
        heartbeat: Some(Duration::from_secs(60)),
        watch: vec![visible("error:"), visible("\"done\"")],
        started_at: place.clock.now(),
        scope_unit: Some("hermes-1.scope".into()),
    }
}

fn receipt(number: u8, place: &Place) -> Receipt {
    Receipt {
        id: id(number),
        owner: Owner::new("agent"),
        command: visible("make all"),
        cwd: visible("/src"),
        started_at: place.clock.now() - Duration::from_secs(9),
        ended_at: place.clock.now(),
        status: Status::Exited(3),
        output: visible("all\ndone\n"),
        output_bytes: 9,
        output_cut: false,
        duration: Duration::from_millis(8999),
        policy: PolicyReport { generation: 3, redactions: [("token".to_owned(), 2)].into(), ..PolicyReport::default() },
    }
}

fn event(name: &str, place: &Place) -> Event {
    Event {
        id: name.into(),
        kind: EventKind::Completion,
        process: Some(id(1)),
        command: visible("make all"),
        owner: Owner::new("agent"),
        at: place.clock.now(),
        status: Some(Status::Exited(3)),
        output: visible("done\n"),
        output_cut: true,
        pattern: None,
        suppressed: 4,
        hidden: true,
        policy: PolicyReport::default(),
    }
}

fn new(name: &str, place: &Place) -> NewEvent {
    NewEvent { event: event(name, place), delivery: Delivery::Pending }
}

fn undecided(name: &str, place: &Place) -> NewEvent {
    NewEvent { event: event(name, place), delivery: Delivery::Undecided }
}

fn names(claimed: &[Claimed]) -> Vec<&str> {
    claimed.iter().map(|claimed| claimed.event.id.as_str()).collect()
}

fn claims(claimed: &[Claimed]) -> Vec<Claim> {
    claimed.iter().map(|claimed| claimed.claim).collect()
}
