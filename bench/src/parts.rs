//! A benchmark of parts, each measured in a process of its own, so that none finds the memory and the threads of another.

use std::process::Command;

use crate::say;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Enough for figures.
    Full,
    /// Enough to see that it works.
    Quick,
}

impl Size {
    /// The number for this size.
    pub fn pick(self, full: usize, quick: usize) -> usize {
        if self == Self::Full { full } else { quick }
    }
}

/// What the process of one part is told before the part's name.
const ONLY: &str = "--only";
/// As many as the threads of a host on the smallest machine it is meant for.
const THREADS: usize = 2;

/// Measures those of `parts` that the arguments of this program name, or all: `[--quick] [PART]...`.
pub fn run<M: Future<Output = ()> + Send + 'static>(parts: &[&str], measure: impl FnOnce(String, Size) -> M) {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // "--test" is criterion's word for the same.
    let quick = arguments.iter().any(|argument| argument == "--quick" || argument == "--test");
    if let [only, part, ..] = arguments.as_slice()
        && only == ONLY
    {
        let size = if quick { Size::Quick } else { Size::Full };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .enable_all()
            .build()
            .expect("a runtime");
        // In a task like any other: whoever blocks on the runtime is not one of its threads.
        let measured = runtime.spawn(measure(part.clone(), size));
        return runtime.block_on(measured).expect("the measurement is not given up");
    }
    let asked: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    let wanted = |part: &&&str| asked.is_empty() || asked.iter().any(|asked| part.contains(asked.as_str()));
    say("ratios of this run", "", "");
    for part in parts.iter().filter(wanted) {
        let mut this = Command::new(std::env::current_exe().expect("this program has a path"));
        let status = this.args([ONLY, part]).args(quick.then_some("--quick")).status().expect("it starts again");
        assert!(status.success(), "{part} could not be measured");
    }
}
