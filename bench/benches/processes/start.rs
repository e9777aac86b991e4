//! How long it takes to start `true` and to know its end: with little and with much memory in the host, beside tokio.

use std::process::Stdio;
use std::time::{Duration, Instant};

use hermes_bench::parts::Size;
use hermes_bench::{MIB, machine, quantile, say};
use hermes_process::host::Host;
use hermes_process::spawn::spawn;
use tokio::process::Command;

use crate::exec;

/// The host's resident memory: little, and much.
const RESIDENT: [usize; 2] = [50 * MIB, 1024 * MIB];

/// A way to start a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Hermes,
    /// The standard library starts it by `posix_spawn`.
    Tokio,
    /// A change of the group, even to the same one, makes the standard library fork, as code of the caller's that is to
    /// run before the program does.
    TokioForking,
}

const WAYS: [(Way, &str); 3] =
    [(Way::Hermes, "hermes"), (Way::Tokio, "plain tokio"), (Way::TokioForking, "plain tokio, forking")];

/// How long it took until it ran, and until its end was known.
struct Times {
    running: Vec<Duration>,
    ended: Vec<Duration>,
}

impl Times {
    fn medians(&mut self) -> [Duration; 2] {
        [quantile(&mut self.running, 0.5), quantile(&mut self.ended, 0.5)]
    }
}

async fn once(host: &Host, way: Way, times: &mut Times) {
    let began = Instant::now();
    if way == Way::Hermes {
        let process = spawn(host, exec(&["/bin/true"])).await.expect("it starts");
        times.running.push(began.elapsed());
        process.wait().await;
    } else {
        let mut command = Command::new("/bin/true");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if way == Way::TokioForking {
            command.gid(rustix::process::getgid().as_raw());
        }
        let child = command.spawn().expect("it starts");
        times.running.push(began.elapsed());
        child.wait_with_output().await.expect("its end is known");
    }
    times.ended.push(began.elapsed());
}

/// The medians of these ways. They take turns, so that a busy moment meets all of them.
async fn medians<const N: usize>(host: &Host, rounds: usize, ways: [Way; N]) -> [[Duration; 2]; N] {
    let mut times = ways.map(|_| Times { running: Vec::new(), ended: Vec::new() });
    for _ in 0..rounds {
        for (way, times) in ways.iter().zip(&mut times) {
            once(host, *way, times).await;
        }
    }
    times.map(|mut times| times.medians())
}

/// The medians of each way, in the order of [`WAYS`].
async fn all(host: &Host, rounds: usize) -> [[Duration; 2]; 3] {
    let [hermes, tokio] = medians(host, rounds, [Way::Hermes, Way::Tokio]).await;
    // By itself: after a fork the host pays for each page it writes to, and whoever comes next would.
    let [forking] = medians(host, rounds, [Way::TokioForking]).await;
    [hermes, tokio, forking]
}

pub(crate) async fn measure(size: Size) {
    let rounds = size.pick(300, 5);
    let host = Host::start().expect("a host");
    all(&host, size.pick(20, 1)).await;
    let [mut little, mut much] = [[[Duration::ZERO; 2]; 3]; 2];
    for (resident, medians_here) in RESIDENT.iter().zip([&mut little, &mut much]) {
        let ballast = machine::grow_to(*resident);
        *medians_here = all(&host, rounds).await;
        drop(std::hint::black_box(ballast));
    }
    for (index, (_, name)) in WAYS.iter().enumerate() {
        for (at, what) in ["until it runs", "until its end is known"].iter().enumerate() {
            for (medians, resident) in [(&little, "50 MiB"), (&much, "1 GiB")] {
                let here = medians[index][at];
                let ratio = format!(
                    "{:.2} : 1 to a host of 50 MiB, {:.2} : 1 to plain tokio",
                    here.as_secs_f64() / little[index][at].as_secs_f64(),
                    here.as_secs_f64() / medians[1][at].as_secs_f64()
                );
                say(
                    &format!("true, {what}, {name}, host of {resident}"),
                    &format!("{:.2} ms", here.as_secs_f64() * 1e3),
                    &ratio,
                );
            }
        }
    }
}
