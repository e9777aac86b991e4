//! How much memory a scope may use: [`MemoryMax`].
//!
//! A command that uses all memory must be what the kernel ends, and not the host. It must never be given more than the
//! host's own service has.

use std::fs;
use std::path::{Component, Path};

/// The least that is set: below it hardly any command runs (design: 64 MiB).
pub const MEMORY_FLOOR: u64 = 64 << 20;
/// What is set where nothing is known about the machine (design: 1 GiB).
pub const MEMORY_DEFAULT: u64 = 1 << 30;
/// The most that is set where no limit of the service says so (design: 4 GiB).
pub const MEMORY_CAP: u64 = 4 << 30;

/// What there is, in bytes, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The limit of the service the host runs in (`memory.max`).
    pub service_limit: Option<u64>,
    /// The memory of the machine.
    pub total: Option<u64>,
}

impl Machine {
    /// Looks at the machine. What cannot be read is not known.
    pub fn look() -> Self {
        let text = |path: &Path| fs::read_to_string(path).ok();
        let total = text(Path::new("/proc/meminfo")).as_deref().and_then(total);
        let group = text(Path::new("/proc/self/cgroup"));
        let service_limit = group.as_deref().and_then(own_group).and_then(|group| {
            let folder = Path::new("/sys/fs/cgroup").join(group);
            text(&folder.join("memory.max"))?.trim().parse().ok()
        });
        Self { service_limit, total }
    }
}

/// The memory of the machine in bytes, from `/proc/meminfo`, which counts in KiB.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim_end().parse::<u64>().ok()?.checked_mul(1024)
}

/// The own group of version 2, relative to the root of all groups, from `/proc/self/cgroup`. None where it is out of
/// sight.
fn own_group(groups: &str) -> Option<&Path> {
    let group = Path::new(groups.lines().find_map(|line| line.strip_prefix("0::/"))?);
    group.components().all(|part| matches!(part, Component::Normal(_))).then_some(group)
}

/// The limit of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryMax {
    /// In bytes.
    pub bytes: u64,
    /// What was asked for and is not used, to be shown as a warning.
    pub ignored: Option<TooLittle>,
}

/// A limit under which nothing runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a memory limit of {0} bytes is too low for any command and is not used; set {MEMORY_FLOOR} bytes or more")]
pub struct TooLittle(pub u64);

impl MemoryMax {
    /// Half of the machine's memory between [`MEMORY_FLOOR`] and [`MEMORY_CAP`], no more than the service has, and
    /// [`MEMORY_DEFAULT`] where neither is known. What is `asked` for, in bytes, can lower that and never raise it.
    pub fn of(machine: Machine, asked: Option<u64>) -> Self {
        let half = machine.total.map(|total| (total / 2).clamp(MEMORY_FLOOR, MEMORY_CAP));
        let service = machine.service_limit.filter(|limit| *limit >= MEMORY_FLOOR);
        let known = half.into_iter().chain(service).min().unwrap_or(MEMORY_DEFAULT);
        match asked {
            Some(bytes) if bytes < MEMORY_FLOOR => Self { bytes: known, ignored: Some(TooLittle(bytes)) },
            Some(bytes) => Self { bytes: known.min(bytes), ignored: None },
            None => Self { bytes: known, ignored: None },
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GIB: u64 = 1 << 30;

    fn bytes(service_limit: Option<u64>, total: Option<u64>, asked: Option<u64>) -> u64 {
        MemoryMax::of(Machine { service_limit, total }, asked).bytes
    }

    #[test]
    fn half_of_the_machine_within_bounds_and_no_more_than_the_service_has() {
        assert_eq!(bytes(None, None, None), GIB);
        assert_eq!(bytes(None, Some(4 * GIB), None), 2 * GIB);
        assert_eq!(bytes(None, Some(64 * GIB), None), 4 * GIB);
        assert_eq!(bytes(None, Some(1), None), MEMORY_FLOOR);
        assert_eq!(bytes(Some(GIB), Some(64 * GIB), None), GIB);
        assert_eq!(bytes(Some(8 * GIB), None, None), 8 * GIB, "the service says so");
        assert_eq!(bytes(Some(MEMORY_FLOOR - 1), None, None), GIB, "no limit anything could run under");
    }

    #[test]
    fn what_is_asked_for_only_lowers_and_nonsense_is_told() {
        assert_eq!(bytes(None, None, Some(MEMORY_FLOOR)), MEMORY_FLOOR);
        assert_eq!(bytes(None, None, Some(9 * GIB)), GIB);
        let refused = MemoryMax::of(Machine::default(), Some(64));
        assert_eq!(refused, MemoryMax { bytes: GIB, ignored: Some(TooLittle(64)) });
    }

    #[test]
    fn the_machine_is_read_as_the_kernel_writes_it() {
        assert_eq!(total("MemTotal:       16303404 kB\nMemFree: 1 kB\n"), Some(16_303_404 * 1024));
        assert_eq!(total("MemTotal: many kB\n"), None);
        let group = Path::new("user.slice/a b.service");
        assert_eq!(own_group("1:name=systemd:/x\n0::/user.slice/a b.service\n"), Some(group));
        assert_eq!(own_group("0::/\n"), Some(Path::new("")));
        assert_eq!(own_group("0::/../../other\n"), None);
        assert_eq!(own_group("2:memory:/docker\n"), None);
        assert!(Machine::look().total.unwrap() > MEMORY_FLOOR);
    }

    proptest! {
        #[test]
        fn a_limit_is_never_below_the_floor_nor_above_what_is_known(
            service in any::<Option<u64>>(), total in any::<Option<u64>>(), asked in any::<Option<u64>>(),
        ) {
            let max = MemoryMax::of(Machine { service_limit: service, total }, asked);
            prop_assert!(max.bytes >= MEMORY_FLOOR);
            for limit in [service, asked].into_iter().flatten().filter(|limit| *limit >= MEMORY_FLOOR) {
                prop_assert!(max.bytes <= limit);
            }
            prop_assert!(total.is_none() || max.bytes <= MEMORY_CAP);
            prop_assert_eq!(max.ignored.is_some(), asked.is_some_and(|asked| asked < MEMORY_FLOOR));
        }
    }
}
