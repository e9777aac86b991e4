//! Which host wrote a row. It must never decide by itself whether a host lives: that is asked of whoever can look.

/// A host, so that a later one can tell whether it still lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostIdentity {
    /// The boot it ran in: `/proc/sys/kernel/random/boot_id`.
    pub boot_id: String,
    /// The inode number of its PID namespace.
    pub pid_namespace: u64,
    /// Its process number in that namespace.
    pub pid: i32,
    /// When it started, in clock ticks since boot: field 22 of `/proc/PID/stat`.
    pub start_ticks: u64,
    /// What it puts into the environment of its processes; no two hosts have the same.
    pub marker: String,
}
