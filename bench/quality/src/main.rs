//! `hermes-quality`: what the redactor and the summariser find, lose and cost, as one table.
//!
//! It must never print a piece of a file it was pointed at that the redactor did not release.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a measurement's result is what it prints")]

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use hermes_bench::{MIB, log_with_secrets, ordinary_log};
use hermes_quality::cases::{self, Case};
use hermes_quality::decisions::Decisions;
use hermes_quality::driver::{self, Driver, Fault, Which, Wrong};
use hermes_quality::judged::{Judged, Tally};
use hermes_quality::peers::{ONLY_PEER, Peer};
use hermes_quality::plain::{self, Folder, Kind};
use hermes_quality::seeds;
use hermes_quality::speed;
use hermes_quality::summaries;
use hermes_quality::table::Table;

const USAGE: &str = "usage: hermes-quality generated|peers|summaries|speed|all [--quick] [--corpus DIR] [--peers DIR]
                                                          [--plain [NAME=]DIR]...
       hermes-quality plain [NAME=]DIR...
  generated   every generated case through the redactor
  peers       the same texts through gitleaks, betterleaks, CredSweeper and kingfisher as well
  summaries   the logs of a corpus through the summariser
  speed       what the hooks cost
  all         all of these; --quick leaves the peers out
  plain       every mask in folders of ordinary files, by what was said about it; what nobody judged is listed";

/// The most examples of a kind of fault that are printed.
const EXAMPLES: usize = 3;
/// What a summariser must keep, and what a summary may cost.
const RECALL: f64 = 0.92;
const TOKENS: usize = 4000;

/// How many masks in 5 MB of ordinary files may be wrong.
const WRONG: f64 = 1.0;

struct Arguments {
    words: Vec<String>,
    quick: bool,
    corpus: Option<PathBuf>,
    peers: PathBuf,
    plain: Vec<Folder>,
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn arguments() -> Option<Arguments> {
    let beside = std::env::current_exe().ok()?.parent()?.parent()?.join("quality-peers");
    let mut parsed = Arguments { words: Vec::new(), quick: false, corpus: None, peers: beside, plain: Vec::new() };
    let mut given = std::env::args().skip(1);
    while let Some(word) = given.next() {
        match word.as_str() {
            "--quick" => parsed.quick = true,
            "--corpus" => parsed.corpus = Some(given.next()?.into()),
            "--plain" => parsed.plain.push(Folder::parse(&given.next()?)),
            "--peers" => parsed.peers = given.next()?.into(),
            _ if word.starts_with('-') => return None,
            _ => parsed.words.push(word),
        }
    }
    (!parsed.words.is_empty()).then_some(parsed)
}

fn main() -> ExitCode {
    let Some(arguments) = arguments() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let mut table = Table::default();
    match measure(&arguments, &mut table) {
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
        Ok(()) => {
            println!("\n{}", table.text());
            table.faults.iter().for_each(|fault| println!("not as it must be: {fault}"));
            if table.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
    }
}

fn measure(arguments: &Arguments, table: &mut Table) -> Result<(), Box<dyn Error>> {
    let what = arguments.words[0].as_str();
    let all = what == "all";
    if !["generated", "peers", "summaries", "speed", "all", "plain"].contains(&what) {
        return Err(USAGE.into());
    }
    if what == "plain" && arguments.words.len() < 2 {
        return Err(USAGE.into());
    }
    if what == "plain" {
        return ordinary(&arguments.words[1..].iter().map(|word| Folder::parse(word)).collect::<Vec<_>>(), table);
    }
    if all || what == "generated" || what == "peers" {
        let cases = cases::cases(&seeds::seeds(&here().join("../../plugins/redact-secrets/rules"))?, 1);
        let wrong = generated(&cases, table)?;
        if what == "peers" || all && !arguments.quick {
            beside(arguments, &cases, &wrong, table)?;
        }
    }
    if all {
        match &*arguments.plain {
            [] => table.add("masks in ordinary files", "not measured", "no folders; give some with --plain DIR"),
            folders => ordinary(folders, table)?,
        }
    }
    if all || what == "summaries" {
        // The corpus is data of others and no part of the repository.
        match &arguments.corpus {
            Some(corpus) => summarised(corpus, table)?,
            None => table.add("critical signals kept", "not measured", "no corpus; give one with --corpus DIR"),
        }
    }
    if all || what == "speed" {
        let target = std::env::current_exe()?.ancestors().nth(2).map(Path::to_owned).unwrap_or_default();
        speed::sizes(table, &target);
        let speeds = speed::redactor(table)?;
        speed::summariser(table, &Driver::open(Which::Both)?, &Driver::open(Which::Redactor)?);
        if !arguments.quick {
            peers_speed(arguments, speeds, table)?;
        }
    }
    Ok(())
}

fn generated(cases: &[Case], table: &mut Table) -> Result<Vec<Wrong>, Box<dyn Error>> {
    let driver = Driver::open(Which::Redactor)?;
    let started = Instant::now();
    let wrong = driver.run(cases);
    let took = started.elapsed().as_secs_f64();
    for (kind, count) in driver::by_kind(cases, &wrong) {
        println!("{count:6} {kind}");
        let of_kind = |one: &&Wrong| format!("{:?} {}", one.fault, cases[one.case].text.kind) == kind;
        for one in wrong.iter().filter(of_kind).take(EXAMPLES) {
            let Case { text, way } = &cases[one.case];
            println!("         {} / {} / {way:?}: {:?} in {:?}", text.syntax, text.change, one.piece, one.shown);
            println!("         of {:?}", text.text);
        }
    }
    let count = |fault| wrong.iter().filter(|one| one.fault == fault).count();
    let (leaks, over, withheld) = (count(Fault::Leak), count(Fault::OverMask), count(Fault::Withheld));
    table.add("generated cases", cases.len().to_string(), format!("in {took:.0} s"));
    table.add("leaks", leaks.to_string(), "goal 0");
    table.add("over-masks", over.to_string(), "goal 0");
    table.must(leaks + over + withheld == 0, format!("{leaks} leaks, {over} over-masks, {withheld} withheld"));
    Ok(wrong)
}

fn beside(arguments: &Arguments, cases: &[Case], wrong: &[Wrong], table: &mut Table) -> Result<(), Box<dyn Error>> {
    let decisions = Decisions::read(&here().join("decisions.toml"))?;
    let whole = |one: &&Wrong| cases[one.case].way == cases::Way::Whole;
    let of = |fault| wrong.iter().filter(whole).filter(|one| one.fault == fault).count();
    let texts = cases.iter().filter(|case| case.way == cases::Way::Whole).count();
    let line = |texts: usize, leaks: usize, own: usize, over: usize| {
        format!("{leaks} leaks ({own} of our own table), {over} over-masks of {texts} texts")
    };
    let own = |one: &&Wrong| one.fault == Fault::Leak && cases[one.case].text.kind.starts_with("rule/");
    let own = wrong.iter().filter(whole).filter(own).count();
    table.add("hermes on whole texts", line(texts, of(Fault::Leak), own, of(Fault::OverMask)), "");
    for peer in Peer::ALL {
        let outcome = peer.compare(&arguments.peers, cases, wrong)?;
        let share =
            if peer.share() > 1 { format!("one text of {}", peer.share()) } else { "the same texts".to_owned() };
        table.add(
            format!("{} on {share}", peer.name()),
            line(outcome.texts, outcome.leaks, outcome.own, outcome.over),
            format!("{:.0} s", outcome.took.as_secs_f64()),
        );
        for ((what, kind), count) in &outcome.disagreements {
            let decision = decisions.about(what, kind);
            let said = decision.map_or("no decision", |decision| &decision.decision);
            println!("{:12} {what:30} {kind:28} {count:6}  {said}", peer.name());
            table.must(decision.is_some(), format!("{}: {what}: {kind}: decide it in decisions.toml", peer.name()));
            table.must(*what != ONLY_PEER, format!("{} finds {count} of {kind} that hermes shows", peer.name()));
        }
    }
    Ok(())
}

fn summarised(corpus: &Path, table: &mut Table) -> Result<(), Box<dyn Error>> {
    let failures = summaries::corpus(corpus)?;
    let driver = Driver::open(Which::Both)?;
    let score = summaries::score(&failures, |failure| summaries::shown(&driver, failure));
    score.lost.iter().for_each(|lost| println!("lost: {lost}"));
    let said = |score: &summaries::Score| {
        format!("{:.3} at {} tokens (worst {})", score.recall(), score.mean(), score.worst())
    };
    table.add(format!("critical signals kept, {} logs", failures.len()), said(&score), "goal .92 at 4,000");
    table.must(score.recall() >= RECALL, format!("summaries keep {:.3} of the critical signals", score.recall()));
    table.must(score.worst() <= TOKENS, format!("a summary has {} tokens", score.worst()));
    for (name, shorten) in summaries::BASELINES {
        let score = summaries::score(&failures, |failure| shorten(&String::from_utf8_lossy(&failure.log)));
        table.add(format!("the same, {name}"), said(&score), "");
    }
    Ok(())
}

fn peers_speed(arguments: &Arguments, ours: [f64; 2], table: &mut Table) -> Result<(), Box<dyn Error>> {
    let texts = [("an ordinary log", ordinary_log(16 * MIB)), ("a secret every 20 lines", log_with_secrets(16 * MIB))];
    for ((name, text), ours) in texts.into_iter().zip(ours) {
        for peer in Peer::FAST {
            let speed = peer.speed(&arguments.peers, &text)? / 1e6;
            let ratio = format!("one core, starting not counted; the hook is {:.0} times as fast", ours / speed);
            table.add(format!("{}, {name}", peer.name()), format!("{speed:.1} MB/s"), ratio);
        }
    }
    Ok(())
}

fn ordinary(folders: &[Folder], table: &mut Table) -> Result<(), Box<dyn Error>> {
    let driver = Driver::open(Which::Redactor)?;
    let judged = Judged::read(&here().join("judged.toml"))?;
    let mut seen = plain::Seen::default();
    for folder in folders {
        plain::walk(&driver, folder, &mut seen)
            .map_err(|error| format!("{} cannot be read: {error}", folder.path.display()))?;
    }
    let tally = Tally::of(&judged, &seen);
    for (mask, reason) in &tally.wrong {
        println!("wrong: {} {}: {reason}", mask.folder, mask.file);
    }
    print!("{}", tally.to_judge());
    seen.withheld.iter().for_each(|path| println!("{}: withheld", path.display()));
    let of = |kind| seen.bytes.get(&kind).copied().unwrap_or_default();
    let mega = |kind| of(kind) as f64 / 1e6;
    let all = of(Kind::Log) + of(Kind::Source) + of(Kind::Lock);
    let read = format!(
        "{:.1} MB of logs, {:.1} of source, {:.1} of lock files",
        mega(Kind::Log),
        mega(Kind::Source),
        mega(Kind::Lock)
    );
    table.add("ordinary files", read, format!("{} files", seen.files));
    let (right, wrong, new) = (tally.right, tally.wrong.len(), tally.new.len());
    let masks = format!("{} masks: {right} right, {wrong} wrong, {new} new", seen.masks.len());
    table.add("masks in ordinary files", masks, "right: a secret of an example or a test");
    let locks = seen.masks.iter().filter(|mask| mask.kind == Kind::Lock).count();
    table.add("masks in lock files", locks.to_string(), "goal 0");
    for (what, kind) in [("logs", Kind::Log), ("source", Kind::Source)].into_iter().filter(|(_, kind)| of(*kind) > 0) {
        let rate = tally.of_kind(kind) as f64 * 5e6 / of(kind).max(1) as f64;
        table.add(format!("wrong or new, in 5 MB of {what}"), format!("{rate:.2}"), "goal 1");
    }
    let rate = tally.rate(all);
    table.must(rate <= WRONG, format!("{rate:.2} masks in 5 MB of ordinary files are wrong, or nobody judged them"));
    table.must(locks == 0, format!("{locks} masks in lock files"));
    table.must(seen.withheld.is_empty(), format!("{} files were withheld", seen.withheld.len()));
    Ok(())
}
