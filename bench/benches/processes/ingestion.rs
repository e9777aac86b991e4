//! How fast the output of a command is taken in, beside a loop that throws it away and beside `cat`.

use std::process::Stdio;
use std::time::{Duration, Instant};

use hermes_bench::parts::Size;
use hermes_bench::{MIB, machine, quantile, say};
use hermes_process::host::Host;
use hermes_process::running::tap::Chunk;
use hermes_process::spawn::spawn;
use tokio::io::AsyncReadExt;
use tokio::process::Command;

use crate::sh;

/// What one read asks for: as much as a pipe holds (pipe(7)).
const READ: usize = 64 * 1024;

/// A way to take a command's output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Nobody: it prints to `/dev/null`.
    Nowhere,
    /// `| cat >/dev/null`.
    Cat,
    /// Plain tokio, dropping what it reads.
    Tokio,
    Hermes,
    /// With somebody who reads along as fast as it goes.
    HermesTapped,
}

const WAYS: [(Way, &str); 5] = [
    (Way::Nowhere, "into /dev/null"),
    (Way::Cat, "into cat >/dev/null"),
    (Way::Tokio, "into plain tokio, dropped"),
    (Way::Hermes, "into hermes"),
    (Way::HermesTapped, "into hermes, with a tap"),
];

/// What one run came to.
#[derive(Default)]
struct Seen {
    times: Vec<Duration>,
    /// The highest resident memory of the whole process, in bytes.
    peak: usize,
    /// What the tap had to skip, as a share of all.
    skipped: f64,
}

async fn once(host: &Host, way: Way, print: &str, bytes: usize, seen: &mut Seen) {
    machine::forget_peak();
    let began = Instant::now();
    match way {
        Way::Nowhere => plain(&format!("{print} >/dev/null")).await,
        Way::Cat => plain(&format!("{print} | cat >/dev/null")).await,
        Way::Tokio => assert_eq!(dropped(print).await, bytes, "all of it is read"),
        Way::Hermes => {
            let process = spawn(host, sh(print)).await.expect("it starts");
            let ended = process.wait().await;
            assert_eq!(ended.output().seen(), bytes as u64, "all of it is captured");
        }
        Way::HermesTapped => {
            let process = spawn(host, sh(print)).await.expect("it starts");
            let (there, tap) = process.tap();
            let (mut read, mut skipped) = (there.seen(), 0);
            if let Some(mut tap) = tap {
                while let Some(chunk) = tap.recv().await {
                    match chunk {
                        Chunk::Bytes(bytes) => read += bytes.len() as u64,
                        Chunk::Skipped(bytes) => skipped += bytes,
                    }
                }
            }
            process.wait().await;
            assert_eq!(read + skipped, bytes as u64, "all of it is read or counted");
            seen.skipped = skipped as f64 / bytes as f64;
        }
    }
    seen.times.push(began.elapsed());
    seen.peak = seen.peak.max(machine::peak());
}

async fn plain(text: &str) {
    let status = Command::new("/bin/sh").args(["-c", text]).stdin(Stdio::null()).status().await.expect("it runs");
    assert!(status.success());
}

async fn dropped(print: &str) -> usize {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", print]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut pipe = child.stdout.take().expect("its output is a pipe");
    let mut buffer = vec![0; READ];
    let mut all = 0;
    loop {
        match pipe.read(&mut buffer).await.expect("a pipe can be read") {
            0 => break,
            length => all += length,
        }
    }
    child.wait().await.expect("its end is known");
    all
}

fn gigabytes(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / 1e9 / time.as_secs_f64()
}

pub(crate) async fn measure(size: Size) {
    let bytes = size.pick(2048 * MIB, 8 * MIB);
    let rounds = size.pick(5, 1);
    let host = Host::start().expect("a host");
    // What earlier runs gave back stays with the process, so all are compared with how it began.
    let before = machine::resident();
    let prints = [("zeros", format!("head -c {bytes} /dev/zero")), ("lines", format!("yes | head -c {bytes}"))];
    for (name, print) in prints {
        let mut all = WAYS.map(|_| Seen::default());
        for _ in 0..rounds {
            for ((way, _), seen) in WAYS.iter().zip(&mut all) {
                once(&host, *way, &print, bytes, seen).await;
            }
        }
        let medians = all.each_mut().map(|seen| quantile(&mut seen.times, 0.5));
        let speeds = medians.map(|time| gigabytes(bytes, time));
        let [_, cat, tokio, ..] = speeds;
        for (((way, what), seen), speed) in WAYS.iter().zip(&all).zip(speeds) {
            let mut ratio = format!("{:.2} of cat, {:.2} of plain tokio", speed / cat, speed / tokio);
            if matches!(way, Way::Hermes | Way::HermesTapped) {
                ratio += &format!(", peak memory {}", machine::mib(seen.peak.saturating_sub(before)));
            }
            if *way == Way::HermesTapped {
                ratio += &format!(", {:.0} % skipped", seen.skipped * 100.0);
            }
            say(&format!("{name} {what}"), &format!("{speed:.2} GB/s"), &ratio);
        }
    }
}
