//! Killers of Windows and PowerShell, which agents type out of habit and which run here under WSL and `pwsh`.
//!
//! It must never care for case: neither do they.

use super::args::{Arg, program_name};
use super::killers::{Judge, is_named};
use super::{Guarded, Reason};

/// Judges a program; whether it is one of these.
pub(crate) fn judge(judge: &mut Judge<'_>, name: &str, args: &[Arg]) -> Result<bool, Reason> {
    match name.to_lowercase().as_str() {
        "taskkill" | "tskill" => taskkill(judge.guarded, args)?,
        "stop-process" | "spps" => stop_process(judge, args)?,
        "get-process" | "gps" | "tasklist" => get_process(judge, args),
        _ => return Ok(false),
    }
    Ok(true)
}

fn is_target(guarded: &Guarded, word: &str) -> bool {
    word.split(',').any(|word| {
        let word = program_name(word.trim_matches(|c: char| c.is_whitespace() || "'\"".contains(c)));
        guarded.images.iter().any(|image| is_named(word, image, true))
    })
}

fn is_own_number(guarded: &Guarded, word: &str) -> bool {
    word.split(',').any(|number| number.parse() == Ok(guarded.pid))
}

fn taskkill(guarded: &Guarded, args: &[Arg]) -> Result<(), Reason> {
    let mut option = String::new();
    for word in args.iter().map(Arg::text) {
        if let Some(name) = word.strip_prefix(['/', '-']) {
            option = name.to_lowercase();
            continue;
        }
        match option.as_str() {
            "pid" if is_own_number(guarded, word) => return Err(Reason::ByNumber),
            "im" if is_target(guarded, word) => return Err(Reason::ByName),
            // `IMAGENAME eq hermes.exe`: the last word is the name.
            "fi" if word.split_whitespace().next_back().is_some_and(|name| is_target(guarded, name)) => {
                return Err(Reason::ByName);
            }
            "s" | "u" | "p" | "pid" | "im" | "fi" => {}
            _ if is_target(guarded, word) => return Err(Reason::ByName),
            _ => {}
        }
    }
    Ok(())
}

fn stop_process(judge: &mut Judge<'_>, args: &[Arg]) -> Result<(), Reason> {
    let words: Vec<&str> = args.iter().map(Arg::text).filter(|word| !word.starts_with('-')).collect();
    if words.iter().any(|word| is_own_number(judge.guarded, word)) {
        return Err(Reason::ByNumber);
    }
    if words.iter().any(|word| is_target(judge.guarded, word)) {
        return Err(Reason::ByName);
    }
    judge.evidence.kills |= words.iter().all(|word| word.parse::<i64>().is_err());
    Ok(())
}

fn get_process(judge: &mut Judge<'_>, args: &[Arg]) {
    judge.evidence.lists = true;
    if args.iter().any(|arg| is_target(judge.guarded, arg.text())) {
        judge.evidence.looks_up = Some(Reason::ByName);
    }
}
