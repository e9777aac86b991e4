//! Secrets that stand behind their name: `NAME=value`, `name: value`, JSON and Python fields, XML elements, options,
//! pairs of `name` and `value`. The parser starts at a word that may name a secret, walks left to the name's begin and
//! right over the operator to the value. It must stay within the line, save for the pairs.

use crate::code;
use crate::column;
use crate::form;
use crate::gate;
use crate::group;
use crate::literal::{Literal, literal, quote};
use crate::loose::{blank, pair};
use crate::name::{self, MAX_NAME, Strength};
use crate::rules::{self, Rule};
use crate::scan::Scan;
use crate::text::{ALNUM, DIGIT, NAME, SPACE, STOP, all, contains, count, ends_folded, holds, is, none, spelled};
use crate::worth;

/// Longest value masked; what is longer is data.
pub(crate) const MAX_VALUE: usize = 8 * 1024;
/// Most blanks between a name, its operator and its value.
pub(crate) const BLANKS: usize = 32;
/// How far before a name its line is looked at.
pub(crate) const LEAD: usize = 96;

/// How a value is tied to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tie {
    /// `=`, and whether blanks stand around it.
    Equals { spaced: bool },
    /// `:`
    Colon,
    /// Only blanks: an option and its argument.
    Blank,
    /// An XML element.
    Element,
}

/// What is known of a name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Named {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) strength: Strength,
    /// First on its line, save for gutters, `export`, list signs and quotes.
    pub(crate) anchored: bool,
    /// Blanks stand before it on its line.
    pub(crate) indented: bool,
    /// Begins with `-`: an option.
    pub(crate) option: bool,
    /// Behind `?`, `&`, `;` or `#`, as in a URL.
    pub(crate) param: bool,
    /// In quotes of its own.
    pub(crate) quoted: bool,
}

impl Named {
    pub(crate) fn rule(&self) -> Rule {
        if self.param {
            rules::URL_PARAM
        } else if self.strength == Strength::Password {
            rules::PASSWORD
        } else {
            rules::ASSIGNMENT
        }
    }
}

/// The literal at `at`, held back from there on while it is open.
#[inline(never)]
pub(crate) fn opened(scan: &mut Scan<'_>, at: usize) -> Option<Literal> {
    scan.open(at);
    literal(scan, at)
}

/// What stands before a name on its line, if that is only what may stand before a name at a line's beginning.
#[inline(never)]
fn lead(scan: &mut Scan<'_>, start: usize) -> Option<bool> {
    let bytes = scan.text.bytes();
    // Text known to hold no newline is not read twice.
    let (from, until) = scan.flat;
    let floor = start.saturating_sub(LEAD);
    let mut line = start;
    while line > floor && bytes[line - 1] != b'\n' {
        let far = line >= floor + 8 && !(until..until + 8).contains(&line);
        line -= if far && scan.text.eight(line - 8).is_some_and(|eight| !holds(eight, b'\n')) { 8 } else { 1 };
        if line == until {
            line = from;
        }
    }
    scan.flat = (line, start);
    if start - line >= LEAD {
        return None;
    }
    let mut rest = &bytes[line..start];
    let indented = matches!(rest.first(), Some(b' ' | b'\t'));
    loop {
        if rest.is_empty() {
            return Some(indented);
        }
        let before = rest.len();
        while let [b' ' | b'\t' | b'+' | b'-' | b'>' | b'<' | b'*' | b'|' | b'$' | b'#' | b'"' | b'\'', tail @ ..] =
            rest
        {
            rest = tail;
        }
        // The lines that boxes are drawn with.
        if let [0xe2, 0x94 | 0x95, _, tail @ ..] = rest {
            rest = tail;
        }
        let digits = rest.iter().take_while(|&&c| is(c, DIGIT)).count();
        if digits > 0 && matches!(rest.get(digits), Some(b'|' | b':' | b'-' | b'\t' | b' ')) {
            rest = &rest[digits + 1..];
        }
        for word in [
            &b"export "[..],
            b"set ",
            b"declare -x ",
            b"typeset -x ",
            b"setenv ",
            b"ENV ",
            b"ARG ",
            b"E  ",
            b"env ",
            b"sudo ",
        ] {
            if rest.first() == word.first() {
                rest = rest.strip_prefix(word).unwrap_or(rest);
            }
        }
        if rest.len() == before {
            return None;
        }
    }
}

/// A word that may name a secret, at `at`.
#[inline(never)]
pub(crate) fn name(scan: &mut Scan<'_>, at: usize) {
    if at < scan.name_end {
        return;
    }
    let (from, known) = scan.next_name;
    let end = if at == from { known } else { scan.text.run(at, NAME, MAX_NAME) };
    scan.name_end = end;
    if end - at >= MAX_NAME {
        return;
    }
    // The dashes behind `PRIVATE KEY`.
    if end - at >= 8 && scan.text.starts(end - 5, b"-----") {
        return;
    }
    let mut start = at;
    while start > 0 && at - start < MAX_NAME && is(scan.text.bytes()[start - 1], NAME) {
        start -= 1;
    }
    if !(scan.text.at(end) == b'=' && outer(scan, start, end)) {
        whole(scan, at, start, end);
    }
}

/// Whether the name at `start..end` is a weak one whose value is a name, `=` and a value, as in `token=token=…`: the
/// inner assignment speaks for itself.
fn outer(scan: &mut Scan<'_>, start: usize, end: usize) -> bool {
    let inner = end + 1;
    let stop = scan.text.run(inner, NAME, worth::INNER);
    if stop - inner < worth::INNER {
        scan.next_name = (inner, stop);
    }
    scan.text.at(stop) == b'='
        && !matches!(scan.text.at(stop + 1), b'=' | 0)
        && is(scan.text.at(start), ALNUM)
        && is(scan.text.at(end - 1), ALNUM)
        && scan.text.before(start) != b'\\'
        && !scan.strict
        && scan.names.strength(scan.text.bytes(), start, end) == Strength::Weak
}

/// The name at `start..end`, with its anchor at `at`, and what it is tied to.
#[inline(never)]
fn whole(scan: &mut Scan<'_>, at: usize, mut start: usize, mut end: usize) {
    // The letter of `\n` in an escaped text is no part of the name after it.
    if scan.text.before(start) == b'\\' && matches!(scan.text.at(start), b'n' | b'r' | b't') && start < at {
        start += 1;
    }
    if matches!(scan.text.before(start), b'%' | b'\\') {
        start = crate::escaped::begin(scan, start, at);
    }
    let dashes = scan.text.run(start, crate::text::JOIN, 4).min(at) - start;
    let option = dashes > 0
        && scan.text.at(start) == b'-'
        && matches!(scan.text.before(start), 0 | b' ' | b'\t' | b'"' | b'\'' | b'\n' | b',' | b'[' | b'(');
    while start < at && matches!(scan.text.at(start), b'-' | b'.') {
        start += 1;
    }
    while end > at && matches!(scan.text.at(end - 1), b'-' | b'.') {
        end -= 1;
    }
    let name = scan.text.slice(start, end);
    let tail = name.rsplit(|&c| c == b'.').next().unwrap_or(name);
    if special(scan, tail, start, end) {
        return;
    }
    // Most words that might name a secret are followed by nothing that ties a value to them.
    let before = scan.text.before(start);
    // The rule of a block such as `-----BEGIN PRIVATE KEY-----`.
    if scan.text.at(end) == b'-' && scan.text.starts(end, b"-----") {
        return;
    }
    if matches!(scan.text.at(end), b'\n' | b'(' | b')' | b';' | b'/' | b',')
        && !matches!(before, b' ' | b'"' | b'\'' | b':' | b'=' | b'\\' | b'>' | b'-')
    {
        return;
    }
    let strength = match scan.names.strength(scan.text.bytes(), start, end) {
        Strength::Weak if scan.strict => Strength::Strong,
        strength => strength,
    };
    if strength == Strength::None {
        return;
    }
    let lead = if option && dashes > 1 { None } else { lead(scan, start) };
    let mut named = Named {
        start,
        end,
        strength,
        anchored: lead.is_some(),
        indented: lead == Some(true),
        option: option && (dashes > 1 || lead.is_none()),
        param: matches!(before, b'?' | b'&') || matches!(before, b';' | b'#') && lead.is_none(),
        quoted: false,
    };
    let mut next = end;
    // The name's own closing quote, with as many backslashes as its opening one.
    if let Some((slashes, mark)) = quote(scan, next)
        && before == mark
        && (start.saturating_sub(slashes + 1)..start.saturating_sub(1)).all(|i| scan.text.bytes()[i] == b'\\')
    {
        named.quoted = true;
        next += slashes + 1;
        if scan.text.at(next) == b']' {
            next += 1;
        }
    }
    tie(scan, named, next);
}

/// Names with a family of their own. Whether `tail`, the last part of a dotted name, was one.
fn special(scan: &mut Scan<'_>, tail: &[u8], start: usize, end: usize) -> bool {
    let &[first, second, _, _, _, _, ..] = tail else { return false };
    match first | 0x20 {
        b'a' | b'p' | b'h'
            if matches!(second | 0x20, b'u' | b'r' | b't')
                && ["authorization", "proxyauthorization", "httpauthorization"]
                    .iter()
                    .any(|own| name::same(tail, own.as_bytes())) =>
        {
            crate::header::authorization(scan, end);
        }
        b'b' if name::same(tail, b"bearer") => crate::header::bearer(scan, end),
        b'c' | b's' if ["cookie", "setcookie", "cookies"].iter().any(|own| name::same(tail, own.as_bytes())) => {
            crate::header::cookie(scan, end, name::same(tail, b"setcookie"));
        }
        b's' if tail == b"sensitive" => crate::terraform::sensitive(scan, start, end),
        b's' if tail == b"Secret" => {
            crate::kubernetes::kind(scan, start);
            return false;
        }
        _ => return crate::command::named(scan, tail, start, end),
    }
    true
}

/// Reads the operator behind a name at `next`, and what it ties to it.
fn tie(scan: &mut Scan<'_>, mut named: Named, next: usize) {
    // A user name of a URL is followed by a colon too.
    if scan.text.slice(named.start.saturating_sub(2), named.start) == b"//"
        && matches!(scan.text.peek(next), b':' | b'\\')
    {
        return;
    }
    // The resource of a name of Amazon: `arn:aws:secretsmanager:*:*:secret:name`.
    let lead = scan.text.slice(named.start.saturating_sub(LEAD), named.start);
    if lead.ends_with(b":")
        && lead.rsplit(|&c| is(c, STOP) || c == b'=').next().is_some_and(|word| word.starts_with(b"arn:"))
    {
        return;
    }
    let mut at = scan.text.blanks(next, BLANKS);
    let gap = at > next;
    let tie = match (scan.text.peek(at), scan.text.peek(at + 1)) {
        // `::set-output name=token::value` of a build.
        (b':', b':') if scan.text.slice(named.start.saturating_sub(5), named.start) == b"name=" => {
            return bare(scan, Named { anchored: true, ..named }, Tie::Colon, at + 2);
        }
        (b'=', b'=' | b'~') | (b':', b':' | b'/') => return,
        (b'=', b'>') if scan.text.peek(at + 2) == b'\n' => return form::dumped(scan, named, at + 3),
        // `user[password]=value` of a form, and `[password] => value`.
        (b']', b'=' | b' ') if !gap && scan.text.before(named.start) == b'[' => {
            at = scan.text.blanks(at + 1, BLANKS);
            let arrow = scan.text.starts(at, b"=>");
            if !arrow && (scan.text.peek(at) != b'=' || scan.text.peek(at + 1) == b'=') {
                return;
            }
            let spaced = !arrow && at > next + 1;
            at += 1 + usize::from(arrow);
            Tie::Equals { spaced }
        }
        (b'=', b'>') | (b':', b'=') | (b'?' | b'+', b'=') => {
            at += 2;
            Tie::Equals { spaced: gap }
        }
        (b'=', _) => {
            at += 1;
            Tie::Equals { spaced: gap || matches!(scan.text.peek(at), b' ' | b'\t') }
        }
        (b':', _) => {
            at += 1;
            Tie::Colon
        }
        (b'>', _) if !gap && column::opens(scan, named) => {
            at += 1;
            // The value may have an element of its own.
            at += if scan.text.starts(at, b"<value>") { 7 } else { 0 };
            Tie::Element
        }
        (b'a'..=b'z' | b'A'..=b'Z', _) if gap && !named.quoted && column::opens(scan, named) => {
            let Some(content) = column::content(scan, at) else { return };
            at = content;
            Tie::Element
        }
        // `Unseal Key 1: value`.
        (b'0'..=b'9', b':') if gap && scan.text.slice(named.start.saturating_sub(7), named.start) == b"Unseal " => {
            at += 2;
            named.strength = Strength::Strong;
            Tie::Colon
        }
        _ if crate::beside::of(scan, named, next, at) => return,
        _ if pair(scan, named, next) => return,
        _ if gap => return blank(scan, named, at),
        _ => return,
    };
    at = scan.text.blanks(at, BLANKS);
    if code::closes(scan, named, at) {
        return;
    }
    if tie == Tie::Colon
        && let Some(behind) = code::typed(scan, at)
    {
        return value(scan, named, Tie::Equals { spaced: true }, behind);
    }
    value(scan, named, tie, at);
}

/// A value at `at`.
#[inline(never)]
pub(crate) fn value(scan: &mut Scan<'_>, named: Named, tie: Tie, at: usize) {
    scan.open(at);
    match scan.text.peek(at) {
        b'[' if scan.text.peek(at + 1) != b']' && !scan.text.reads(at, gate::MASK) && tie != Tie::Element => {
            if named.strength >= Strength::Strong || name_is_plural(scan, named) {
                form::array(scan, named, at + 1);
            }
        }
        b'{' if tie != Tie::Element && scan.text.peek(at + 1) != b'{' => {
            if named.param {
                form::braced(scan, named, at);
            } else if group::plural(scan, named) {
                group::members(scan, named, at);
            } else if named.quoted || named.anchored {
                crate::terraform::valued(scan, at, named.rule(), named.strength >= Strength::Strong, None);
            }
        }
        b'|' | b'>' if tie == Tie::Colon && named.anchored => form::block(scan, named, at),
        // A tag of YAML: `!!str value`.
        b'!' if scan.text.starts(at, b"!!str ") => value(scan, named, tie, at + 6),
        b'\n' if tie == Tie::Colon && named.anchored => {
            if group::plural(scan, named) {
                group::lines(scan, named, at);
            } else if named.strength == Strength::Password {
                group::below(scan, named, at);
            }
        }
        b'\n' if tie == Tie::Element => column::inner(scan, named, at),
        0 | b'\n' => {}
        _ => match opened(scan, at) {
            Some(found) => {
                quoted(scan, named, tie, found);
                form::replaced(scan, named, found.next);
            }
            None => match form::wrapped(scan, at) {
                Some(found) => quoted(scan, named, Tie::Colon, found),
                None => bare(scan, named, tie, at),
            },
        },
    }
}

fn name_is_plural(scan: &Scan<'_>, named: Named) -> bool {
    matches!(scan.text.slice(named.start, named.end).last(), Some(b's' | b'S'))
}

/// A quoted value.
#[inline(never)]
pub(crate) fn quoted(scan: &mut Scan<'_>, named: Named, tie: Tie, found: Literal) {
    let value = scan.text.slice(found.start, found.end);
    let name = scan.text.slice(named.start, named.end);
    let only = value.len() <= 1 || value.len() == 2 && value[0] == b'\\' || value.len() <= 4 && value[0] >= 0xC0;
    if only
        || gate::placeholder(value)
        || code::pattern(value)
        || code::filled(value)
        || gate::lookup_text(value)
        || name::echoes(name, value)
        || name::working_folder(name, value)
    {
        return;
    }
    let keep = match named.strength {
        Strength::Weak => {
            (!gate::opaque(value)
                || gate::fingerprint(value)
                || name::plain_key(name) && !gate::plain_key(value)
                || code::words(name, value)
                || gate::path(value))
                && crate::service::rule(name, value).is_none()
        }
        // An interpolation around nothing else is a reference.
        _ if value.contains(&b' ') && group::phrase(name, value) => false,
        _ if value.contains(&b' ') => {
            gate::sentence(value)
                || count(value, b' ') > 12
                // What people choose is a password's; a label is all small letters.
                || named.strength == Strength::Strong && value.iter().all(|&c| c == b' ' || c.is_ascii_lowercase())
        }
        Strength::Strong => {
            gate::path(value)
                || spelled(value, DIGIT, b".")
                || code::plain_name(value)
                || contains(value, b"://")
                || value.len() <= 6 && all(value, DIGIT)
                || gate::prose_word(value)
                || tie == Tie::Blank && !gate::mixed(value)
        }
        Strength::Password => contains(value, b"://") || code::is_type(value) || code::version(value),
        Strength::None => true,
    };
    if !keep {
        let rule = crate::service::rule(name, value).filter(|_| !named.param).unwrap_or(named.rule());
        scan.mask(found.start, found.end, rule);
    }
}

/// How many blanks a line begins with.
#[inline(never)]
pub(crate) fn indent(scan: &Scan<'_>, line: usize) -> usize {
    scan.text.blanks(line, LEAD) - line
}

/// Where the bare value at `at` ends. In an environment dump it goes on to white space.
#[inline(never)]
pub(crate) fn bare_end(scan: &mut Scan<'_>, at: usize, dump: bool) -> usize {
    let (entered, known) = scan.runs[usize::from(dump)];
    let mut end = at;
    if entered <= at && at < known {
        end = known;
        if end == scan.text.len() {
            scan.text.touch();
        }
    } else {
        let ends = if dump { SPACE } else { STOP };
        loop {
            while let Some(eight) = scan.text.eight(end)
                && none(eight, ends)
                && !holds(eight, b'\\')
                && !holds(eight, 0)
            {
                end += 8;
            }
            let byte = scan.text.at(end);
            let stops = if dump { is(byte, SPACE) || byte == 0 } else { is(byte, STOP) };
            let escape = byte == b'\\' && matches!(scan.text.at(end + 1), b'n' | b'r' | b't' | b'"' | b'\'' | b'\\');
            if stops || escape && !dump {
                // A mask inside the value is part of it.
                if byte == b']' && form::in_mask(scan.text.slice(at.max(end.saturating_sub(110)), end)) {
                    end += 1;
                    continue;
                }
                break;
            }
            end += 1;
        }
        scan.runs[usize::from(dump)] = (at, end);
    }
    end.min(at + MAX_VALUE)
}

/// A value without quotes.
#[inline(never)]
pub(crate) fn bare(scan: &mut Scan<'_>, named: Named, tie: Tie, at: usize) {
    // `&Secret = make()` is no parameter of a URL.
    let named = Named { param: named.param && tie != Tie::Equals { spaced: true }, ..named };
    let text = &scan.text;
    let first = text.peek(at);
    if matches!(first, 0 | b'\n') {
        return;
    }
    scan.open(at);
    let dump = named.anchored
        && tie == Tie::Equals { spaced: false }
        && !named.param
        && !named.quoted
        && scan.text.before(named.start) != b'"'
        && scan.text.before(named.start) != b'\'';
    let reaches = if tie == Tie::Element { form::element_end(scan, named, at) } else { Some(bare_end(scan, at, dump)) };
    let Some(mut end) = reaches else { return };
    if let Some(whole) = group::whole(scan, named, tie, at, end) {
        return scan.mask(at, whole, named.rule());
    }
    // `client_secret=x&grant_type=y` is a form, not an environment.
    let form = dump.then(|| code::form_end(scan.text.slice(at, end))).flatten();
    end = form.map_or(end, |size| at + size);
    if dump {
        end = form::command_end(scan, at, end);
    }
    let text = &scan.text;
    // In JSON the end of a bare value is never a bracket's business; in a dump only a lone separator is not part of it.
    while dump && end > at && matches!(text.peek(end - 1), b',' | b';' | b'"' | b'\'' | b'`') {
        end -= 1;
    }
    let mut value = text.slice(at, end);
    if value.starts_with(gate::MASK) {
        let Some(size) = gate::mask_len(text.slice(at, at + 110)) else { return };
        if at + size >= end && is(text.peek(at + size), STOP) || gate::masked(text.slice(at, end.max(at + size))) {
            return;
        }
        end = end.max(at + size);
        value = text.slice(at, end);
    }
    let name = text.slice(named.start, named.end);
    if tie != Tie::Element && code::stays(scan, named, tie, value, end, dump) {
        return;
    }
    let text = &scan.text;
    let token = named.option && value.len() >= 6 && gate::mixed(value) && ends_folded(name, b"token");
    if named.strength == Strength::Weak
        && !token
        && !worth::weak(value, name, named.param)
        && crate::service::rule(name, value).is_none()
    {
        return;
    }
    if gate::placeholder(value)
        || contains(&value[..value.len().min(256)], b"://")
        || gate::lookup(value) && !(dump && named.strength == Strength::Password && !value.ends_with(b")"))
        || name::echoes(name, value)
        || name::working_folder(name, value)
        || text.peek(end) == b'(' && !dump
    {
        return;
    }
    let masks = match named.strength {
        Strength::None => false,
        Strength::Weak => true,
        strength => {
            let digits = all(value, DIGIT);
            let few = digits && (strength == Strength::Strong && value.len() <= 6 || value.len() < 4);
            let path = strength == Strength::Strong && gate::path(value);
            !few && !path && worth::strong(scan, named, tie, value, end, dump)
        }
    };
    if masks {
        let rule = crate::service::rule(name, value).filter(|_| !named.param).unwrap_or(named.rule());
        scan.mask(at, end, rule);
    }
}
