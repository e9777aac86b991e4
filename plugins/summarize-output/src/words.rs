//! The words that tell a failure from noise, looked up by value instead of by comparing strings.
//!
//! A word is the run of ASCII letters of a line, lower-cased and packed into eight bytes; longer words are told by their
//! first eight letters and their length. This must never hold the words of one project: only of runners and languages.

/// What a word says about its line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Word {
    /// Says nothing.
    #[default]
    Other,
    /// `error`, `err`.
    Error,
    /// `errors`, `problems`, `vulnerabilities`: counted bad things.
    Errors,
    /// `fatal`.
    Fatal,
    /// `panic`, `panicked`, `traceback`: begins a trace.
    Panic,
    /// `exception`.
    Exception,
    /// `fail`, `failed`, `failing`, `failure`, `failures`.
    Fail,
    /// A word of a cause in prose: `denied`, `refused`, `cannot`, `missing`, …
    Cause,
    /// `killed`, `aborted`: how a process ended.
    Killed,
    /// `pass`, `passed`, `ok`, `success`, …
    Pass,
    /// `warn`, `warning`, `warnings`, `deprecated`.
    Warn,
    /// `expected`, `received`, `actual`, `got`, `want`, `left`, `right`, `assert`, …
    Diff,
    /// `exit`, `exited`.
    Exit,
    /// `code`, `status`: stands between `exit` and its number.
    Code,
    /// `info`, `debug`, `trace`, `notice`: a low level.
    Info,
    /// `level`, `lvl`, `severity`: the key of a level.
    Level,
    /// A verb of progress: `compiling`, `downloading`, …
    Progress,
    /// `test`, `tests`, `suites`, `examples`, …: what a summary counts.
    Tests,
    /// `skipped`, `ignored`, `pending`, …: what a summary also counts.
    Skipped,
    /// `no`, `without`, `zero`: takes back what follows.
    No,
    /// `not`.
    Not,
    /// `all`.
    All,
    /// `line`: stands before the number of a location.
    LineNo,
    /// `at`.
    At,
    /// `npm`, `pnpm`, `yarn`, …: a tool that puts its name before its errors.
    Tool,
    /// `found`, `aborting`, `total`, `completed`: belong to the last sentence of a tool.
    Closing,
}

impl Word {
    /// Whether a number beside it counts something.
    #[must_use]
    pub fn is_counted(self) -> bool {
        use Word::{Error, Errors, Fail, Pass, Skipped, Tests, Warn};
        matches!(self, Fail | Errors | Error | Pass | Tests | Skipped | Warn)
    }

    /// Whether it says that something went wrong, if there is any of it.
    #[must_use]
    pub fn is_bad(self) -> bool {
        use Word::{Cause, Error, Errors, Exception, Fail, Killed, Panic};
        matches!(self, Error | Errors | Panic | Exception | Fail | Cause | Killed)
    }
}

/// The letters of a word that are packed; the rest decides by length only.
pub const PACKED: usize = 8;

/// Packs at most eight letters, lower-cased, first letter lowest.
#[must_use]
pub const fn pack(letters: &[u8]) -> u64 {
    let mut packed = 0;
    let mut at = 0;
    while at < letters.len() && at < PACKED {
        packed |= ((letters[at] | 0x20) as u64) << (8 * at);
        at += 1;
    }
    packed
}

/// Slots of the table: about twice the words, so that a look-up seldom needs a second step.
const SLOTS: usize = 512;

/// Spreads a packed word. The factor is the golden ratio of 2^64, the usual one of multiplicative hashing.
const fn spread(packed: u64, len: usize) -> u64 {
    (packed ^ ((len as u64) << 59)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Where a word's look-up in the table begins.
const fn slot(packed: u64, len: usize) -> usize {
    (spread(packed, len) >> 55) as usize
}

macro_rules! words {
    ($( $kind:ident: $( $text:literal )+ ; )+) => {
        const WORDS: &[(&[u8], Word)] = &[ $( $( ($text, Word::$kind), )+ )+ ];
    };
}

words! {
    Error: b"error" b"err" b"fehler" b"erreur" b"errore" b"erro";
    Errors: b"errors" b"problems" b"problem" b"vulnerabilities" b"violations" b"offenses" b"issues" b"issue" b"errored" b"critical";
    Fatal: b"fatal";
    Panic: b"panic" b"panicked" b"traceback" b"uncaught" b"unhandled" b"segfault" b"segmentation" b"oom";
    Exception: b"exception" b"exceptions";
    Fail: b"fail" b"fails" b"failed" b"failing" b"failure" b"failures" b"unsuccessful" b"fehlgeschlagen";
    Cause: b"denied" b"refused" b"undefined" b"unresolved" b"mismatch" b"mismatched" b"mismatches" b"cannot" b"unable"
        b"unexpected" b"invalid" b"missing" b"timeout" b"timed" b"conflict" b"conflicts" b"unknown" b"unrecognized"
        b"unsupported" b"forbidden" b"unauthorized" b"couldn" b"could" b"such" b"nonexistent" b"corrupt" b"corrupted" b"rejected"
        b"wrong" b"broken" b"violation" b"overflow" b"exceeded" b"unreachable" b"deadlock" b"incompatible" b"incorrect"
        b"unbound" b"outdated" b"cancelled" b"canceled" b"interrupted" b"bad" b"unavailable" b"dubious"
        b"leaked" b"exhausted" b"expired" b"malformed" b"illegal" b"differ" b"differs" b"reformat" b"reformatted"
        b"threshold" b"insufficient" b"disallowed" b"prohibited" b"unsatisfiable" b"unmet" b"unauthenticated"
        b"unresolvable" b"unreadable" b"uncommitted" b"duplicate" b"ambiguous" b"reject" b"truncated" b"stalled"
        b"exceeds" b"corruption" b"inconsistent" b"unmatched" b"unhealthy" b"crash" b"collision" b"leak" b"leaks"
        b"nonzero" b"incomplete" b"impossible" b"diverged" b"refusing" b"refuse" b"refuses" b"declined" b"blocked"
        b"insecure" b"untrusted" b"undeclared" b"unterminated" b"mangled" b"outofmemory";
    Killed: b"killed" b"aborted" b"terminated" b"crashed" b"core";
    Pass: b"pass" b"passed" b"passes" b"passing" b"ok" b"success" b"successful" b"successfully" b"succeeded" b"done";
    Warn: b"warn" b"warning" b"warnings" b"deprecated" b"deprecation";
    Diff: b"expected" b"received" b"actual" b"got" b"want" b"wanted" b"left" b"right" b"assert" b"assertion" b"expect"
        b"diff";
    Exit: b"exit" b"exited" b"returned" b"exiting";
    Code: b"code" b"status" b"value" b"non" b"zero" b"with";
    Info: b"info" b"debug" b"trace" b"notice" b"verbose" b"log";
    Level: b"level" b"lvl" b"severity" b"loglevel";
    Progress: b"compiling" b"compiled" b"downloading" b"downloaded" b"fetching" b"fetched" b"building" b"built" b"installing"
        b"installed" b"checking" b"resolving" b"extracting" b"receiving" b"unpacking" b"pulling" b"pulled" b"copying"
        b"preparing" b"collecting" b"adding" b"added" b"generating" b"linking" b"updating" b"creating" b"get" b"using"
        b"requirement" b"selecting" b"setting" b"processing" b"unzipping" b"uploading" b"reading" b"writing"
        b"transforming" b"rendering" b"scanning" b"loading" b"waiting" b"refreshing" b"documenting" b"packaging"
        b"configuring" b"verifying" b"removing" b"cloning" b"counting" b"compressing" b"remote" b"inflating" b"cc" b"cxx"
        b"sending" b"cached" b"start";
    Tests: b"test" b"tests" b"suites" b"suite" b"examples" b"example" b"specs" b"spec" b"assertions" b"checks" b"files"
        b"targets" b"tasks" b"scenarios" b"steps" b"cases" b"snapshots";
    Skipped: b"skipped" b"ignored" b"pending" b"todo" b"filtered" b"xfailed" b"xpassed" b"deselected" b"disabled" b"flaky"
        b"xfail" b"xpass" b"skip" b"skipping";
    No: b"no" b"without" b"zero";
    Not: b"not";
    All: b"all" b"everything";
    LineNo: b"line";
    At: b"at";
    Tool: b"npm" b"pnpm" b"yarn" b"cmake" b"make" b"php" b"gmake" b"ninja" b"pip" b"lerna" b"nx" b"bazel" b"ld" b"gradle";
    Closing: b"found" b"aborting" b"total" b"finished" b"completed" b"generated" b"ran" b"collected" b"result";
}

const TABLE: [(u64, u8, Word); SLOTS] = table();

const fn table() -> [(u64, u8, Word); SLOTS] {
    let mut table = [(0, 0, Word::Other); SLOTS];
    let mut at = 0;
    while at < WORDS.len() {
        let (text, word) = WORDS[at];
        let packed = pack(text);
        let mut slot = slot(packed, text.len());
        while table[slot].1 != 0 && !(table[slot].0 == packed && table[slot].1 as usize == text.len()) {
            slot = (slot + 1) % SLOTS;
        }
        if table[slot].1 == 0 {
            table[slot] = (packed, text.len() as u8, word);
        }
        at += 1;
    }
    table
}

/// One bit for each word, out of sixteen: most words that are not in the table find none.
const SEEN: [u64; 64] = {
    let mut seen = [0; 64];
    let mut at = 0;
    while at < WORDS.len() {
        let spread = spread(pack(WORDS[at].0), WORDS[at].0.len());
        seen[(spread >> 58) as usize] |= 1 << (spread >> 52 & 63);
        at += 1;
    }
    seen
};

/// Whether a word may be in the table; [`look_up`] tells.
#[inline]
#[must_use]
pub fn may_tell(packed: u64, len: usize) -> bool {
    let spread = spread(packed, len);
    SEEN[(spread >> 58) as usize] >> (spread >> 52 & 63) & 1 != 0
}

/// What a word of `len` letters says, given its first eight as [`pack`] packs them.
#[must_use]
pub fn look_up(packed: u64, len: usize) -> Word {
    let mut slot = slot(packed, len);
    loop {
        let (found, letters, word) = TABLE[slot];
        if letters == 0 || (found == packed && usize::from(letters) == len) {
            return word;
        }
        slot = (slot + 1) % SLOTS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_either_case_and_others_are_not() {
        assert_eq!(look_up(pack(b"ERROR"), 5), Word::Error);
        assert_eq!(look_up(pack(b"Traceback"), 9), Word::Panic);
        assert_eq!(look_up(pack(b"successfully"), 12), Word::Pass);
        assert_eq!(look_up(pack(b"terror"), 6), Word::Other);
        assert_eq!(look_up(pack(b"exceptional"), 11), Word::Other);
    }

    #[test]
    fn every_word_of_the_list_is_in_the_table() {
        for (text, _) in WORDS {
            assert_ne!(look_up(pack(text), text.len()), Word::Other, "{}", String::from_utf8_lossy(text));
            assert!(may_tell(pack(text), text.len()), "{}", String::from_utf8_lossy(text));
        }
    }
}
