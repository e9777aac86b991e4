//! Passwords in command lines that no name announces: `mysql -pSECRET`, `curl -u user:pass`, `docker login -p SECRET`.
//! An option is only read as a password where the command before it on the line takes it as one.

use crate::gate;
use crate::rules;
use crate::scan::Scan;
use crate::text::{STOP, WORD, is};

/// How far before an option its command is looked for.
const REACH: usize = 512;

/// What a command word makes of the options behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Means {
    /// `-p` is followed at once by a password.
    Attached,
    /// `-p` takes a password.
    Separate,
    /// `-u` takes `user:password`.
    User,
    /// `-a` takes a password.
    Auth,
    /// `-w` takes a password.
    Bind,
    /// `-U` takes `user%password`.
    Samba,
    /// `-P` takes a password.
    Upper,
    /// A client with a `login` command.
    Registry,
    /// That command.
    Login,
}

/// Where each kind of command word was seen last on the line in hand.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Commands {
    seen: [usize; 9],
    line: usize,
    read: usize,
}

impl Commands {
    /// Whether such a word stands before `at`, near enough to be the command the option belongs to.
    fn means(&self, what: Means, at: usize) -> bool {
        let seen = self.seen[what as usize];
        seen > self.line && at + 1 - seen <= REACH
    }
}

fn meaning(word: &[u8]) -> &'static [Means] {
    match word {
        b"mysql" | b"mysqldump" | b"mysqladmin" | b"mariadb" | b"mysqlimport" | b"mysqlshow" | b"mysqlcheck"
        | b"mariadb-dump" => &[Means::Attached],
        b"sshpass" => &[Means::Attached, Means::Separate],
        b"docker" | b"podman" | b"helm" | b"nerdctl" | b"crane" | b"skopeo" | b"oras" | b"buildah" | b"az" | b"cf"
        | b"oc" | b"argocd" => &[Means::Registry],
        b"login" => &[Means::Login],
        b"curl" | b"http" | b"https" | b"xh" => &[Means::User],
        b"redis-cli" => &[Means::Auth],
        b"ldapsearch" | b"ldapmodify" | b"ldapadd" | b"ldapwhoami" | b"ldapdelete" => &[Means::Bind],
        b"smbclient" | b"rpcclient" | b"smbget" => &[Means::Samba],
        b"zip" | b"unzip" | b"sqlcmd" | b"bcp" => &[Means::Upper],
        _ => &[],
    }
}

/// Reads the command words of the line of `at`, up to there, each once.
fn read(scan: &mut Scan<'_>, at: usize) {
    let bytes = scan.text.bytes();
    let mut commands = scan.commands;
    let from = commands.read.max(at.saturating_sub(REACH));
    if let Some(newline) = bytes[from..at].iter().rposition(|&c| c == b'\n') {
        commands.line = from + newline + 1;
        commands.read = commands.line;
    } else if from > commands.read {
        // What lies further back is out of reach.
        commands.read = from;
    }
    let mut start = commands.read;
    let ends = |c: u8| is(c, STOP) || matches!(c, b'(' | b'=' | b'/');
    for end in commands.read..=at {
        if end == at || ends(bytes[end]) {
            for &what in meaning(&bytes[start..end]) {
                commands.seen[what as usize] = start + 1;
            }
            start = end + 1;
        }
    }
    commands.read = at;
    scan.commands = commands;
}

/// A short option, with the anchor on the blank before it; or `-us` of `--user`.
pub(crate) fn option(scan: &mut Scan<'_>, at: usize) {
    if scan.text.at(at) == b'-' {
        return user_option(scan, at);
    }
    let letter = scan.text.at(at + 2);
    let value = at + 3;
    let gap = matches!(scan.text.at(value), b' ' | b'=');
    let close = scan.text.at(value);
    if close == b'\n' || letter != b'p' && letter != b'u' && !gap && is(close, WORD) {
        return;
    }
    read(scan, at);
    let commands = scan.commands;
    let means = |what| commands.means(what, at);
    let separate = means(Means::Separate) || means(Means::Registry) && means(Means::Login);
    match letter {
        b'p' if means(Means::Attached) && !gap => secret(scan, value),
        b'p' if separate && gap => secret(scan, value + 1),
        b'P' if means(Means::Upper) && gap => secret(scan, value + 1),
        b'a' if means(Means::Auth) && gap => secret(scan, value + 1),
        b'w' if means(Means::Bind) && gap => secret(scan, value + 1),
        b'u' if means(Means::User) => pair(scan, value + usize::from(gap), b':'),
        b'U' if means(Means::User) => pair(scan, value + usize::from(gap), b':'),
        b'U' if means(Means::Samba) => pair(scan, value + usize::from(gap), b'%'),
        _ => {}
    }
}

fn user_option(scan: &mut Scan<'_>, at: usize) {
    let long = scan.text.starts(at, b"-user ") || scan.text.starts(at, b"-user=");
    let dashed =
        at > 0 && (scan.text.bytes()[at - 1] == b'-' || scan.text.slice(at.saturating_sub(7), at) == b"--proxy");
    if !(long && dashed) {
        return;
    }
    read(scan, at);
    if scan.commands.means(Means::User, at) {
        pair(scan, at + 6, b':');
    }
}

/// The argument at `at`, without its quotes.
#[inline(never)]
fn argument(scan: &mut Scan<'_>, at: usize) -> (usize, usize) {
    scan.open(at);
    if let Some(found) = crate::literal::literal(scan, at).filter(|_| crate::literal::quote(scan, at).is_some()) {
        return (found.start, found.end);
    }
    let mut end = at;
    while end - at < 1024
        && !matches!(scan.text.at(end), 0 | b' ' | b'\t' | b'\n' | b'"' | b'\'' | b'`' | b'|' | b';' | b'>' | b'<')
    {
        end += 1;
    }
    (at, end)
}

fn secret(scan: &mut Scan<'_>, at: usize) {
    if scan.text.at(at) == b'-' {
        return;
    }
    let (start, end) = argument(scan, at);
    let value = scan.text.slice(start, end);
    if value.len() >= 3 && !gate::placeholder(value) && !gate::lookup(value) {
        scan.mask(start, end, rules::FLAG);
    }
}

/// `user:password` at `at`: the password.
fn pair(scan: &mut Scan<'_>, at: usize, mark: u8) {
    let (start, end) = argument(scan, at);
    let Some(colon) = scan.text.slice(start, end).iter().position(|&c| c == mark) else { return };
    let value = scan.text.slice(start + colon + 1, end);
    if !value.is_empty() && !gate::placeholder(value) && !value.starts_with(b"//") {
        scan.mask(start + colon + 1, end, rules::FLAG);
    }
}
