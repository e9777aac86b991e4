//! Advice on a foreground command that would not end, or would leave something behind.
//!
//! It must never change the command, and never look at quoted text: what is data to this shell is no command of it.

use std::fmt;

use super::scan::{Kind, Token};
use super::simple::{Simple, commands};

/// Names that take a command out of reach of the shell that starts it.
const DETACHERS: [&str; 3] = ["nohup", "disown", "setsid"];

/// Programs that serve until they are stopped, whatever their arguments.
const SERVERS: [&str; 3] = ["nodemon", "uvicorn", "gunicorn"];

/// Runners of the scripts of a JavaScript project.
const SCRIPT_RUNNERS: [&str; 4] = ["npm", "pnpm", "yarn", "bun"];

/// What people call scripts that run until they are stopped.
const ENDLESS_SCRIPTS: [&str; 4] = ["dev", "start", "serve", "watch"];

/// Python's modules that serve until they are stopped.
const PYTHON_SERVERS: [&str; 3] = ["http.server", "uvicorn", "gunicorn"];

/// The verbs of `vite` that end by themselves.
const VITE_ENDS: [&str; 2] = ["build", "optimize"];

/// Programs that read commands from a here-document.
const SHELLS: [&str; 5] = ["bash", "sh", "dash", "zsh", "ksh"];

/// Why a command should not run in the foreground as it is, and what to do instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// It takes something out of reach; holds the word that does.
    Detaches(&'static str),
    /// It sends something to the background with `&`.
    Backgrounds,
    /// It runs until it is stopped; holds what is known to do so.
    Endless(&'static str),
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Detaches(word) => write!(
                f,
                "'{word}' would leave a process that nobody watches or ends; leave '{word}' out and start the command \
                 with background = true, which keeps its output and its exit"
            ),
            Self::Backgrounds => f.write_str(
                "'&' would leave a process running behind a command that has ended; leave '&' out and start what is to \
                 run on with background = true, or end the command with 'wait'; an '&' that belongs to a word needs quotes",
            ),
            Self::Endless(what) => write!(
                f,
                "{what} runs until it is stopped, so the foreground would only wait for its time-out; start it with \
                 background = true, and then read its output for the line that says it is ready"
            ),
        }
    }
}

/// What is to be said against running a text in the foreground; the first of: it detaches, it uses `&`, it never ends.
///
/// Commands that only ask for help or a version are let through, and so is a text that no shell could read to its end.
/// An `&` is let through where a plain `wait` follows it: nothing is left behind then.
pub fn advise(text: &str) -> Option<Advice> {
    advise_depth(text, MAX_DOCUMENTS)
}

/// How many here-documents for shells are followed into each other. Two are rare; more are no honest command.
const MAX_DOCUMENTS: usize = 4;

fn advise_depth(text: &str, documents: usize) -> Option<Advice> {
    let (commands, tokens) = commands(text).ok()?;
    let detaches = commands.iter().filter(|command| !command.is_query_of_its_own()).find_map(detacher);
    detaches
        .map(Advice::Detaches)
        .or_else(|| leaves_something(&commands, &tokens).then_some(Advice::Backgrounds))
        .or_else(|| commands.iter().find_map(endless).map(Advice::Endless))
        .or_else(|| {
            let documents = documents.checked_sub(1)?;
            bodies_for_shells(&commands, &tokens).find_map(|(start, end)| advise_depth(&text[start..end], documents))
        })
}

fn detacher(command: &Simple<'_>) -> Option<&'static str> {
    let name = command.bare().first()?;
    let name = name.rsplit('/').next()?;
    DETACHERS.iter().find(|word| **word == name).copied()
}

/// Whether something is sent to the background and not waited for.
fn leaves_something(commands: &[Simple<'_>], tokens: &[Token]) -> bool {
    let Some(last) = tokens.iter().rfind(|token| token.kind == Kind::Background) else { return false };
    !commands.iter().any(|command| command.start > last.end && command.depth == 0 && command.words == ["wait"])
}

/// What runs until it is stopped, if the command does.
fn endless(command: &Simple<'_>) -> Option<&'static str> {
    if command.is_query() {
        return None;
    }
    let mut words: Vec<&str> = command.bare().iter().filter(|word| !word.starts_with('-')).copied().collect();
    // `npx vite` is `vite`.
    if words.len() > 1 && ["npx", "bunx"].contains(&words[0]) {
        words.remove(0);
    }
    let name = words.first()?.rsplit('/').next()?;
    let second = words.get(1).copied();
    if SCRIPT_RUNNERS.contains(&name) {
        let after_run = words.iter().skip_while(|word| **word != "run").nth(1);
        return [second, after_run.copied()].into_iter().flatten().find_map(endless_script);
    }
    match (name, second) {
        ("docker", Some("compose")) if words.contains(&"up") => Some("docker compose up"),
        ("docker-compose", _) if words.contains(&"up") => Some("docker-compose up"),
        ("next", Some("dev")) => Some("next dev"),
        ("vite", verb) if verb.is_none_or(|verb| !VITE_ENDS.contains(&verb)) => Some("vite"),
        ("python" | "python3", _) => python_server(command.bare()),
        _ => SERVERS.iter().find(|server| **server == name).copied(),
    }
}

fn endless_script(script: &str) -> Option<&'static str> {
    // `dev:web` is the `dev` of a part.
    let known = ENDLESS_SCRIPTS.contains(&script.split(':').next()?);
    known.then_some("a script named dev, start, serve or watch")
}

fn python_server(words: &[&str]) -> Option<&'static str> {
    let module = words.iter().skip_while(|word| **word != "-m").nth(1)?;
    PYTHON_SERVERS.iter().find(|server| *server == module).copied()
}

/// The here-documents that a shell reads; any other is data.
fn bodies_for_shells<'t>(
    commands: &'t [Simple<'_>],
    tokens: &'t [Token],
) -> impl Iterator<Item = (usize, usize)> + use<'t> {
    let mut line_start = 0;
    let bodies = tokens.iter().filter_map(move |token| match token.kind {
        Kind::Newline => {
            line_start = token.end;
            None
        }
        Kind::Body => Some((line_start, token.start, token.end)),
        _ => None,
    });
    bodies.filter_map(move |(line, start, end)| {
        let mut readers = commands.iter().filter(|command| (line..start).contains(&command.start));
        let is_shell = |command: &Simple<'_>| {
            command.bare().first().and_then(|name| name.rsplit('/').next()).is_some_and(|name| SHELLS.contains(&name))
        };
        readers.any(is_shell).then_some((start, end))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kind(text: &str) -> &'static str {
        match advise(text) {
            None => "fine",
            Some(Advice::Detaches(_)) => "detaches",
            Some(Advice::Backgrounds) => "backgrounds",
            Some(Advice::Endless(_)) => "endless",
        }
    }

    #[test]
    fn what_leaves_the_shell_is_advised_against_where_a_command_stands() {
        for text in [
            "nohup ./x",
            "nohup ./x -v",
            "setsid -f ./x",
            "a && nohup b >log 2>&1 &",
            "sudo -u me nohup ./x",
            "/usr/bin/nohup ./x",
            "(cd x; setsid y)",
            "sleep 9 & disown",
            "A=1 nohup x",
            "echo $(nohup x)",
            "if true; then nohup x; fi",
            "bash <<'E'\nnohup x\nE\n",
        ] {
            assert_eq!(kind(text), "detaches", "{text}");
        }
        for text in
            ["echo nohup", "man setsid", "'nohup' x", "command -v nohup", "cat <<E\nnohup x\nE\n", "nohup --help"]
        {
            assert_eq!(kind(text), "fine", "{text}");
        }
    }

    #[test]
    fn an_ampersand_that_leaves_something_is_advised_against() {
        for text in ["sleep 99 &", "a & b", "(sleep 9 &)", "curl http://h/?a=1&b=2", "a && { b & }", "a & wait; b &"] {
            assert_eq!(kind(text), "backgrounds", "{text}");
        }
        for text in [
            "echo \"a & b\"",
            "echo 'a & b' a\\&b `x & y`",
            "a && b",
            "a &> log",
            "a 2>&1 | b",
            "a & b & wait",
            "for x in 1 2; do a & done; wait",
            "cat <<E\na & b\nE",
            "echo a # & b",
            "git commit -m \"$(cat <<'E'\nR & D\nE\n)\"",
        ] {
            assert_eq!(kind(text), "fine", "{text}");
        }
    }

    #[test]
    fn what_never_ends_is_advised_against() {
        for text in [
            "npm run dev",
            "npm start",
            "pnpm serve",
            "yarn watch",
            "bun run dev",
            "npm --prefix web run dev:web",
            "cd web && npm run dev",
            "docker compose up",
            "docker compose up -d",
            "docker compose -f x.yml up",
            "docker-compose up",
            "next dev",
            "vite",
            "npx vite --host",
            "nodemon x.js",
            "uvicorn app:app",
            "gunicorn app",
            "python -m http.server",
            "python3 -m http.server 80",
            "PORT=1 uvicorn a:a | tee log",
        ] {
            assert_eq!(kind(text), "endless", "{text}");
        }
        for text in [
            "uvicorn --help",
            "uvicorn --version",
            "npm run dev -h",
            "gunicorn -v",
            "npm run build",
            "npm test",
            "npm install serve",
            "vite build",
            "next build",
            "docker compose ps",
            "python -m http",
            "echo vite",
            "grep uvicorn x",
            "timeout 5 uvicorn a:a",
        ] {
            assert_eq!(kind(text), "fine", "{text}");
        }
    }

    #[test]
    fn each_advice_names_the_remedy() {
        for text in ["nohup x", "x &", "vite"] {
            let advice = advise(text).unwrap().to_string();
            assert!(advice.contains("background = true"), "{advice}");
        }
    }

    proptest! {
        #[test]
        fn quoted_text_is_never_advised_on(text in "[^']{0,60}") {
            prop_assert_eq!(advise(&format!("echo '{text}'")), None);
        }

        #[test]
        fn any_text_gets_an_answer(text in r#"([a \n"'(){};#<>|=$]|&&|nohup |<<E\n|\nE\n|bash ){0,30}"#) {
            let _ = advise(&text).map(|advice| advice.to_string());
        }
    }
}
