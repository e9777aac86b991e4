//! From captured bytes to visible text: the seam alone, and with the bundled plugins, as a view and as a stream.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use hermes_bench::{MIB, log_with_secrets, median, ordinary_log, say, speed};
use hermes_fakes::policy::Fake;
use hermes_home::home::{Home, LocateArgs};
use hermes_model::config::Config;
use hermes_model::context::{Context, Surface};
use hermes_output::captured::Captured;
use hermes_output::cut::Limits;
use hermes_output::exact::ExactValues;
use hermes_output::json::reveal_json;
use hermes_output::policy::Policy;
use hermes_output::reveal::reveal;
use hermes_output::stream::Stream;
use hermes_plugins::change::Editor;
use hermes_plugins::registry::{Depth, Plugins};
use serde_json::{Value, json};

/// The size of the pieces a stream arrives in: what one read of a pipe gives.
const PIECE: usize = 64 * 1024;

fn view(policy: &dyn Policy, text: &[u8], exact: &ExactValues) -> usize {
    let mut captured = Captured::new(2 * text.len());
    captured.push(text);
    let limits = Limits { reply_bytes: 50_000, rest: None };
    reveal(policy, &Context::new(Surface::Foreground), &captured, exact, &limits).text.as_str().len()
}

fn stream(policy: &dyn Policy, text: &[u8], exact: &Arc<ExactValues>) -> usize {
    let mut stream = Stream::new(Context::new(Surface::Stream), Arc::clone(exact));
    let shown: usize = text.chunks(PIECE).map(|piece| stream.push(policy, piece).text.as_str().len()).sum();
    shown + stream.finish(policy).text.as_str().len()
}

fn document(policy: &dyn Policy, value: &Value, exact: &ExactValues) -> bool {
    let context = Context::new(Surface::McpResult);
    // The copy is in the time: whoever has a result gives it away.
    reveal_json(policy, &context, value.clone(), exact).is_ok_and(|revealed| revealed.changed)
}

/// What servers answer: a short text, a long one, and a list of small objects.
fn documents() -> [(&'static str, Value); 3] {
    let text = |bytes: usize| json!({"content": [{"type": "text", "text": ordinary_log(bytes)}]});
    let row =
        |n: usize| json!({"id": n, "name": "a name of something", "path": "/usr/share/doc/readme.txt", "ok": true});
    let rows: Value = (0..50_000).map(row).collect();
    [("1 KiB text", text(1024)), ("5 MiB text", text(5 * MIB)), ("50 000 objects", json!({"structuredContent": rows}))]
}

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let args = LocateArgs { home: Some(folder.path().join("home")), profile: None };
    let home = Home::locate(&args).expect("a fresh home");
    let config = Config::default();
    let open = || Plugins::open(&home, &config, folder.path(), Depth::Enabled).expect("the plugins open").policy();
    let policy = open();
    let editor = Editor::new(&home, &config, folder.path()).expect("an engine");
    editor.disable(&"summarize-output".parse().expect("a name")).expect("the bundled summariser can be disabled");
    let redaction = open();
    let exact = Arc::new(ExactValues::new([("API_TOKEN".to_owned(), "k3y-that-is-not-in-the-log".to_owned())]));
    let texts = [("ordinary", ordinary_log(8 * MIB)), ("with secrets", log_with_secrets(8 * MIB))];

    let mut criterion =
        Criterion::default().configure_from_args().sample_size(10).measurement_time(Duration::from_secs(4));
    let mut group = criterion.benchmark_group("seam");
    for (name, text) in &texts {
        let bytes = text.as_bytes();
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group
            .bench_function(BenchmarkId::new("view", name), |b| b.iter(|| view(&*redaction, black_box(bytes), &exact)));
        group.bench_function(BenchmarkId::new("stream", name), |b| {
            b.iter(|| stream(&*policy, black_box(bytes), &exact))
        });
    }
    for (name, value) in &documents() {
        group.throughput(Throughput::Bytes(value.to_string().len() as u64));
        group.bench_function(BenchmarkId::new("document", name), |b| {
            b.iter(|| document(&*redaction, black_box(value), &exact))
        });
    }
    group.finish();
    criterion.final_summary();

    say("ratios of this run", "", "");
    let nothing = Fake::nothing();
    let bytes = texts[0].1.as_bytes();
    let copy = median(5, || drop(black_box(bytes.to_vec())));
    let bare = median(5, || {
        black_box(view(&nothing, bytes, &exact));
    });
    let bare_stream = median(5, || {
        black_box(stream(&nothing, bytes, &exact));
    });
    say("copying the log", &format!("{:.0} MB/s", speed(bytes.len(), copy)), "");
    for (what, time) in [("the seam alone, view", bare), ("the seam alone, stream", bare_stream)] {
        let ratio = time.as_secs_f64() / copy.as_secs_f64();
        say(what, &format!("{:.0} MB/s", speed(bytes.len(), time)), &format!("{ratio:.1} copies"));
    }
    for (name, text) in &texts {
        let bytes = text.as_bytes();
        let masked = median(5, || {
            black_box(view(&*redaction, bytes, &exact));
        });
        let whole = median(5, || {
            black_box(view(&*policy, bytes, &exact));
        });
        let flowing = median(5, || {
            black_box(stream(&*policy, bytes, &exact));
        });
        say(
            &format!("redacted view, {name}"),
            &format!("{:.0} MB/s", speed(bytes.len(), masked)),
            &format!("{:.1} : 1 to the seam alone", masked.as_secs_f64() / bare.as_secs_f64()),
        );
        say(
            &format!("redacted and summarised view, {name}"),
            &format!("{:.0} MB/s", speed(bytes.len(), whole)),
            &format!("{:.1} : 1 to the redacted view", whole.as_secs_f64() / masked.as_secs_f64()),
        );
        say(
            &format!("redacted stream, {name}"),
            &format!("{:.0} MB/s", speed(bytes.len(), flowing)),
            &format!("{:.2} of the view's speed", masked.as_secs_f64() / flowing.as_secs_f64()),
        );
    }
    for (name, value) in &documents() {
        let bytes = value.to_string().len();
        let copy = median(5, || drop(black_box(value.clone())));
        for (what, policy) in [("the seam alone", &nothing as &dyn Policy), ("redacted", &*redaction)] {
            let time = median(5, || {
                black_box(document(policy, value, &exact));
            });
            let own = time.saturating_sub(copy);
            say(
                &format!("document of {name}, {what}"),
                &format!("{:.0} MB/s", speed(bytes, own)),
                &format!("{:.1} us without copying it", own.as_secs_f64() * 1e6),
            );
        }
    }
}
