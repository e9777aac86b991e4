//! Programs that run the program named in their arguments, and how to find it there.
//!
//! It must never lose a command: where the options of a wrapper say that it runs nothing, and only there, the answer is
//! that it runs nothing.

use super::args::{Arg, Valued, program_name, split};

/// What stands behind a wrapper.
pub(crate) enum Behind {
    /// A program and its arguments.
    Program(Vec<Arg>),
    /// A text for a shell.
    Text(String),
    /// Nothing that runs.
    Nothing,
}

/// How a wrapper takes its arguments.
struct Wrapper {
    names: &'static [&'static str],
    valued: Valued,
    /// How many operands stand before the program.
    before: usize,
    /// Options whose value is a text for a shell.
    texts: &'static [&'static str],
}

const fn wrapper(names: &'static [&'static str], short: &'static str, long: &'static [&'static str]) -> Wrapper {
    Wrapper { names, valued: Valued { short, long }, before: 0, texts: &[] }
}

/// From the manual pages of sudo 1.9, doas 6.8, coreutils 9, util-linux 2.40, systemd 256, psmisc 23, findutils 4.10.
const WRAPPERS: [Wrapper; 28] = [
    wrapper(
        &["sudo"],
        "ugUCDhpRrtT",
        &[
            "user",
            "group",
            "other-user",
            "close-from",
            "chdir",
            "host",
            "prompt",
            "chroot",
            "role",
            "type",
            "command-timeout",
        ],
    ),
    wrapper(&["doas"], "uCa", &[]),
    Wrapper { texts: &["S", "split-string"], ..wrapper(&["env"], "uCS", &["unset", "chdir", "split-string"]) },
    wrapper(
        &["nohup", "setsid", "builtin", "command", "eatmydata", "busybox", "toybox", "unbuffer", "noglob", "nocorrect"],
        "",
        &[],
    ),
    wrapper(&["exec"], "a", &[]),
    wrapper(&["nice"], "n", &["adjustment"]),
    wrapper(&["ionice"], "cn", &["class", "classdata"]),
    wrapper(&["stdbuf"], "ioe", &["input", "output", "error"]),
    Wrapper { before: 1, ..wrapper(&["timeout", "gtimeout"], "ks", &["kill-after", "signal"]) },
    wrapper(&["time", "gtime"], "fo", &["format", "output"]),
    wrapper(&["pkexec"], "", &["user"]),
    Wrapper {
        texts: &["c", "command", "session-command"],
        ..wrapper(
            &["su", "runuser"],
            "cgGsCTwu",
            &["command", "session-command", "group", "supp-group", "shell", "whitelist-environment", "user"],
        )
    },
    Wrapper { before: 1, texts: &["c"], ..wrapper(&["sg"], "c", &[]) },
    wrapper(
        &["setpriv"],
        "",
        &[
            "ambient-caps",
            "inh-caps",
            "bounding-set",
            "ruid",
            "euid",
            "rgid",
            "egid",
            "reuid",
            "regid",
            "groups",
            "securebits",
            "pdeathsig",
            "selinux-label",
            "apparmor-profile",
            "landlock-access",
            "landlock-rule",
        ],
    ),
    wrapper(
        &["systemd-run"],
        "upMEHC",
        &[
            "unit",
            "property",
            "description",
            "slice",
            "service-type",
            "uid",
            "gid",
            "nice",
            "working-directory",
            "setenv",
            "on-active",
            "on-boot",
            "on-startup",
            "on-unit-active",
            "on-unit-inactive",
            "on-calendar",
            "timer-property",
            "path-property",
            "socket-property",
            "machine",
            "host",
            "background",
        ],
    ),
    wrapper(&["systemd-inhibit"], "", &["what", "who", "why", "mode"]),
    wrapper(&["nsenter"], "tSGW", &["target", "setuid", "setgid", "wdns"]),
    wrapper(&["unshare"], "RwSG", &["root", "wd", "setuid", "setgid", "map-user", "map-group", "propagation"]),
    Wrapper { before: 1, ..wrapper(&["chroot"], "", &["userspec", "groups"]) },
    Wrapper {
        before: 1,
        texts: &["c", "command"],
        ..wrapper(&["flock"], "wEc", &["timeout", "wait", "conflict-exit-code", "command"])
    },
    Wrapper { before: 1, ..wrapper(&["taskset"], "", &[]) },
    Wrapper { before: 1, ..wrapper(&["chrt"], "TPD", &["sched-runtime", "sched-period", "sched-deadline"]) },
    wrapper(&["strace", "ltrace"], "abeEIoOpPsSuUX", &["output", "trace", "attach", "user"]),
    wrapper(&["caffeinate"], "tw", &[]),
    wrapper(&["dbus-run-session"], "", &["config-file", "dbus-daemon"]),
    wrapper(
        &["xvfb-run"],
        "efnpsw",
        &["error-file", "auth-file", "server-num", "xauth-protocol", "server-args", "wait"],
    ),
    Wrapper {
        texts: &["c", "command"],
        ..wrapper(
            &["script"],
            "cEIOBTmo",
            &["command", "echo", "log-in", "log-out", "log-io", "log-timing", "output-limit"],
        )
    },
    wrapper(
        &["xargs"],
        "IadEnPLs",
        &["arg-file", "delimiter", "max-args", "max-procs", "max-lines", "max-chars", "process-slot-var"],
    ),
];

/// Looks behind a wrapper; none where the first word is none.
pub(crate) fn peel(args: &[Arg]) -> Option<Behind> {
    let (first, rest) = args.split_first()?;
    let name = program_name(first.text());
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name))?;
    let options = split(rest, wrapper.valued, false);
    if name == "command" && options.has(&["v", "V"]) {
        return Some(Behind::Nothing);
    }
    // `su USER -c TEXT`: here options follow operands too, unless `-u` says that a program does.
    let options = match name {
        "su" | "runuser" if !options.has(&["u", "user"]) => split(rest, wrapper.valued, true),
        "flock" | "sg" if rest.iter().any(|arg| arg.text() == "-c") => split(rest, wrapper.valued, true),
        _ => options,
    };
    let texts: Vec<&str> = options.values(wrapper.texts).map(Arg::text).collect();
    if !texts.is_empty() {
        let tail = options.operands.iter().map(Arg::text).filter(|_| name == "env");
        return Some(Behind::Text(texts.into_iter().chain(tail).collect::<Vec<_>>().join(" ")));
    }
    if name == "su" {
        return Some(Behind::Nothing);
    }
    let program: Vec<Arg> =
        options.operands.into_iter().skip(wrapper.before).skip_while(|arg| is_assignment(arg.text())).collect();
    Some(if program.is_empty() { Behind::Nothing } else { Behind::Program(program) })
}

/// The marker that `xargs` replaces in its command, if it has one.
pub(crate) fn xargs_marker(args: &[Arg]) -> Option<String> {
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&"xargs"))?;
    let options = split(args.get(1..)?, wrapper.valued, false);
    options.values(&["I"]).next().map(|arg| arg.text().to_owned()).filter(|marker| !marker.is_empty())
}

/// Whether a word sets a variable: `NAME=value`.
pub(crate) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| is_name(name.strip_suffix('+').unwrap_or(name)))
}

/// Whether a text can be the name of a variable.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behind(line: &str) -> String {
        let args: Vec<Arg> = line.split(' ').map(|word| Arg(word.to_owned())).collect();
        match peel(&args) {
            Some(Behind::Program(args)) => args.iter().map(Arg::text).collect::<Vec<_>>().join(" "),
            Some(Behind::Text(text)) => format!("text: {text}"),
            Some(Behind::Nothing) => "nothing".to_owned(),
            None => "no wrapper".to_owned(),
        }
    }

    #[test]
    fn each_wrapper_shows_the_program_behind_its_options() {
        for line in [
            "sudo -n -u root x -y",
            "sudo A=b x -y",
            "doas -u root x -y",
            "env A=b x -y",
            "env -i -u A x -y",
            "nohup x -y",
            "setsid -w x -y",
            "nice -n 5 x -y",
            "nice -5 x -y",
            "ionice -c 3 x -y",
            "stdbuf -oL x -y",
            "timeout 5 x -y",
            "timeout -s KILL 5 x -y",
            "exec -a n x -y",
            "command x -y",
            "builtin x -y",
            "eatmydata x -y",
            "pkexec x -y",
            "pkexec --user root x -y",
            "runuser -u bob -- x -y",
            "setpriv --reuid 1 x -y",
            "systemd-run --user -p A=b x -y",
            "nsenter -t 1 -m x -y",
            "unshare -r x -y",
            "chroot /a x -y",
            "flock /l x -y",
            "taskset 3 x -y",
            "chrt 5 x -y",
            "strace -f -o out x -y",
            "/usr/bin/time -f %e x -y",
            "busybox x -y",
            "xargs -r -n 1 x -y",
            "caffeinate -t 5 x -y",
        ] {
            assert_eq!(behind(line), "x -y", "{line}");
        }
    }

    #[test]
    fn a_wrapper_that_takes_a_text_shows_it() {
        for line in [
            "su -c x",
            "su root -c x",
            "su - root --command=x",
            "runuser bob -c x",
            "flock /l -c x",
            "env -S x",
            "script -qc x",
        ] {
            assert_eq!(behind(line), "text: x", "{line}");
        }
        assert_eq!(behind("env -S x y"), "text: x y");
    }

    #[test]
    fn a_wrapper_without_a_program_runs_nothing() {
        for line in ["command -v x", "su", "su root", "sudo -l", "env", "xargs"] {
            assert_eq!(behind(line), "nothing", "{line}");
        }
        assert_eq!(behind("ls -l"), "no wrapper");
    }

    #[test]
    fn the_marker_of_xargs_is_found() {
        let args: Vec<Arg> = ["xargs", "-I{}", "x"].iter().map(|word| Arg((*word).to_owned())).collect();
        assert_eq!(xargs_marker(&args).as_deref(), Some("{}"));
        assert_eq!(xargs_marker(&args[..1]), None);
    }
}
