//! Service managers, login managers, and our own verbs: whether they would stop the host.
//!
//! It must never refuse a look: status and the like pass.

use super::args::{Arg, UNKNOWN, Valued, split};
use super::killers::Judge;
use super::{Guarded, Reason};

/// A manager that takes a verb and the name of a service, in either order.
struct ServiceTool {
    name: &'static str,
    valued: Valued,
    stops: &'static [&'static str],
}

/// systemd 256, launchd of macOS 14, and what other init systems bring.
const MANAGERS: [ServiceTool; 7] = [
    ServiceTool {
        name: "systemctl",
        valued: Valued {
            short: "tpPHMnosC",
            long: &[
                "type",
                "state",
                "property",
                "host",
                "machine",
                "lines",
                "output",
                "signal",
                "kill-whom",
                "kill-value",
                "root",
                "job-mode",
                "what",
                "when",
            ],
        },
        stops: &[
            "stop",
            "restart",
            "kill",
            "try-restart",
            "condrestart",
            "condstop",
            "reload-or-restart",
            "force-reload",
            "try-reload-or-restart",
            "reload-or-try-restart",
            "freeze",
        ],
    },
    ServiceTool {
        name: "launchctl",
        valued: Valued { short: "", long: &[] },
        stops: &[
            "kickstart",
            "unload",
            "load",
            "stop",
            "restart",
            "submit",
            "bootstrap",
            "bootout",
            "remove",
            "disable",
            "kill",
        ],
    },
    manager("service", &["stop", "restart", "force-restart", "condrestart", "force-reload"]),
    manager("rc-service", &["stop", "restart"]),
    manager("sv", &["stop", "restart", "down", "force-stop", "force-restart", "term", "kill", "d", "t", "k", "exit"]),
    manager("supervisorctl", &["stop", "restart", "signal", "shutdown"]),
    manager("initctl", &["stop", "restart"]),
];

const fn manager(name: &'static str, stops: &'static [&'static str]) -> ServiceTool {
    ServiceTool { name, valued: Valued { short: "", long: &[] }, stops }
}

/// Words after `hermes` that would end a running host. All words of a row must be there, in this order.
const OWN_VERBS: [&[&str]; 6] = [
    &["serve", "--stop"],
    &["serve", "stop"],
    &["serve", "--restart"],
    &["serve", "restart"],
    &["serve", "uninstall"],
    &["serve", "--uninstall"],
];

/// Verbs of loginctl that end sessions.
const ENDS_SESSIONS: [&str; 5] = ["terminate-session", "terminate-user", "terminate-seat", "kill-session", "kill-user"];

/// Judges a program; whether it is a manager.
pub(crate) fn judge(judge: &mut Judge<'_>, name: &str, args: &[Arg]) -> Result<bool, Reason> {
    if name == "loginctl" {
        return loginctl(judge.guarded, args).map(|()| true);
    }
    let Some(manager) = MANAGERS.iter().find(|manager| manager.name == name) else { return Ok(false) };
    let options = split(args, manager.valued, true);
    let is_label = |arg: &Arg| is_own_label(judge.guarded, name, arg.text());
    let labels = options.operands.iter().chain(options.given.iter().filter_map(|(_, value)| value.as_ref()));
    if !labels.clone().any(is_label) {
        return Ok(true);
    }
    let with_now =
        options.has(&["now"]) && options.operands.iter().any(|arg| ["disable", "mask"].contains(&arg.text()));
    if with_now || options.operands.iter().any(|arg| manager.stops.contains(&arg.text())) {
        return Err(Reason::ByService);
    }
    // What a manager says of the service has its number in it.
    if options.operands.iter().any(|arg| ["show", "status", "list", "print", "pid"].contains(&arg.text())) {
        judge.evidence.looks_up = Some(Reason::ByService);
    }
    Ok(true)
}

/// Judges words after our own name.
pub(crate) fn own_verb(args: &[Arg]) -> Result<(), Reason> {
    let words: Vec<&str> = args.iter().map(Arg::text).take_while(|word| *word != "--").collect();
    let ends = OWN_VERBS.iter().any(|verb| {
        let mut left = words.iter();
        verb.iter().all(|word| left.any(|found| found == word))
    });
    // `run` starts a command, and the words after it are that command's.
    let runs = words.iter().find(|word| !word.starts_with('-')) == Some(&"run");
    if ends && !runs { Err(Reason::ByOwnVerb) } else { Ok(()) }
}

fn loginctl(guarded: &Guarded, args: &[Arg]) -> Result<(), Reason> {
    let options =
        split(args, Valued { short: "pPHMsno", long: &["property", "host", "machine", "signal", "kill-whom"] }, true);
    let Some((verb, targets)) = options.operands.split_first() else { return Ok(()) };
    if !ENDS_SESSIONS.contains(&verb.text()) {
        return Ok(());
    }
    let is_own = |target: &Arg| {
        guarded.users.is_empty()
            || target.text().contains(UNKNOWN)
            || guarded.users.iter().any(|own| own == target.text())
    };
    // Which session or seat is the host's cannot be told from a text.
    if !verb.text().ends_with("-user") || targets.is_empty() || targets.iter().any(is_own) {
        return Err(Reason::BySession);
    }
    Ok(())
}

/// Whether a word names a service of the host: a unit, a template of it, a glob over it, or on macOS any label with it.
fn is_own_label(guarded: &Guarded, manager: &str, word: &str) -> bool {
    if manager == "launchctl" {
        let word = word.to_lowercase();
        return guarded.units.iter().any(|unit| word.contains(unit.as_str()));
    }
    let word = word.rsplit('/').next().unwrap_or(word);
    let word = [".service", ".scope", ".socket", ".target", ":*"]
        .iter()
        .find_map(|end| word.strip_suffix(end))
        .unwrap_or(word);
    let word = word.split_once('@').map_or(word, |(template, _)| template);
    (manager == "supervisorctl" && word == "all")
        || guarded.units.iter().any(|unit| is_glob_match(word, unit))
        || (manager == "systemctl" && holds_own_user(guarded, word))
}

/// Whether a unit is the slice of the host's user: everything of that user is in it.
fn holds_own_user(guarded: &Guarded, word: &str) -> bool {
    let slice = word.strip_suffix(".slice").and_then(|slice| slice.strip_prefix("user-"));
    slice.is_some_and(|number| guarded.users.iter().any(|own| own == number)) || word == "user.slice" || word == "user"
}

/// Whether a name is matched by a glob of `*` and `?`. What cannot be told may be nothing.
fn is_glob_match(glob: &str, name: &str) -> bool {
    let (glob, name): (Vec<char>, Vec<char>) =
        (glob.chars().filter(|&c| c != UNKNOWN).collect(), name.chars().collect());
    if glob.iter().all(|&c| c == '*') && glob.len() != 1 {
        return false;
    }
    let (mut at, mut in_name, mut star) = (0, 0, None);
    while in_name < name.len() {
        match glob.get(at) {
            Some('*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some(&c) if c == '?' || c == name[in_name] => {
                at += 1;
                in_name += 1;
            }
            _ => match star {
                Some((before, matched)) => {
                    star = Some((before, matched + 1));
                    at = before + 1;
                    in_name = matched + 1;
                }
                None => return false,
            },
        }
    }
    glob[at..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_matches_as_service_managers_do() {
        for glob in ["hermes", "hermes*", "*", "h?rmes", "*mes", "h*m*s"] {
            assert!(is_glob_match(glob, "hermes"), "{glob}");
        }
        for glob in ["herme", "", "hermes?", "x*", "*x", "hermes-x"] {
            assert!(!is_glob_match(glob, "hermes"), "{glob}");
        }
    }
}
