//! The WebAssembly engine: its configuration, the clock behind CPU limits, and how a call is driven from plain code.
//!
//! Everything wasmtime-wide is decided here. Code compiled under one [`Metering`] cannot run under the other.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use hermes_model::hook::Hook;
use wasmtime::component::Linker;
use wasmtime::{Config, InstanceAllocationStrategy, PoolingAllocationConfig};

use crate::api;
use crate::gate::Gate;
use crate::guest::Guest;
use crate::limits::EPOCH_TICK;

/// The stack of WebAssembly code. A guest that needs more traps.
const WASM_STACK: usize = 512 * 1024;
/// The stack of the fiber a call runs on; what WebAssembly leaves is for host functions.
const FIBER_STACK: usize = 2 * 1024 * 1024;
/// Instances the pool has room for: calls of all plugins at the same time, and their warm instances.
const POOL_INSTANCES: u32 = 96;
/// How many calls of all plugins that see raw text run at once; others wait. What is left of the pool is for trials.
const CALLS_MAX: usize = POOL_INSTANCES as usize / 3;
/// How many calls of one hook of a plugin run at once: its share, so that one that hangs leaves room for the others.
pub(crate) const CALLS_OF_ONE_MAX: usize = CALLS_MAX / 3;
/// How many calls of notifiers run at once. They wait for servers, and must never keep a reply waiting for a place.
const NOTIFIER_CALLS_MAX: usize = POOL_INSTANCES as usize / 6;
/// How many idle instances of all plugins together are kept.
const IDLE_MAX: usize = POOL_INSTANCES as usize / 3;
/// The most core instances and tables of one plugin's instance: an interpreter with its libraries has some dozen.
const CORE_INSTANCES_OF_ONE: u32 = 32;
/// The most memories of one plugin's instance: each takes its reservation of address space.
const MEMORIES_OF_ONE: u32 = 4;
/// Address space for one memory of the pool. Without a smaller bound, checks on each access can be left out.
const MEMORY_RESERVATION: u64 = 4 * 1024 * 1024 * 1024;
/// The same where address space is limited: room for most texts without moving the memory, and checks on each access.
const MEMORY_RESERVATION_SMALL: u64 = 16 * 1024 * 1024;
/// What stands guard behind such a memory.
const MEMORY_GUARD_SMALL: u64 = 64 * 1024;

/// What stops a guest that does not return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metering {
    /// A deadline in CPU time. For production: about free.
    Epoch,
    /// Instructions are counted as well. For `test`, which reports them; slower.
    Fuel,
}

/// How instances are allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// From a pool whose address space is reserved once.
    Pooling,
    /// Each for itself: where address space is limited.
    OnDemand,
}

/// Why there is no engine.
#[derive(Debug, thiserror::Error)]
#[error("the WebAssembly engine cannot start: {reason}")]
pub struct EngineError {
    reason: String,
}

/// The engine with its linker. Cloning is cheap; the clock stops with the last clone.
#[derive(Clone)]
pub struct Engine {
    engine: wasmtime::Engine,
    linker: Arc<Linker<Guest>>,
    clock: Arc<Clock>,
    timers: Arc<Timers>,
    idle: Arc<AtomicUsize>,
    calls: Arc<Gate>,
    notifier_calls: Arc<Gate>,
    allocation: Allocation,
    metering: Metering,
}

/// Room for one idle instance, given back when it is dropped.
pub(crate) struct IdlePlace(Arc<AtomicUsize>);

impl Drop for IdlePlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The runtime that keeps the time of calls that wait. It may end on any thread, also on one of a host's runtime, where
/// nobody may wait for its end; nothing but timers is in it.
struct Timers(Option<tokio::runtime::Runtime>);

impl Timers {
    fn enter(&self) -> Option<tokio::runtime::EnterGuard<'_>> {
        self.0.as_ref().map(tokio::runtime::Runtime::enter)
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Engine {
    /// Starts an engine, with a pool if the machine has the address space for one.
    ///
    /// # Errors
    /// The processor or the system lacks what the engine needs.
    pub fn start(metering: Metering) -> Result<Self, EngineError> {
        let error = |error: &dyn std::fmt::Display| EngineError { reason: error.to_string() };
        let (engine, allocation) = match wasmtime::Engine::new(&config(metering, Allocation::Pooling)) {
            Ok(engine) => (engine, Allocation::Pooling),
            Err(_) => {
                let engine = wasmtime::Engine::new(&config(metering, Allocation::OnDemand));
                (engine.map_err(|e| error(&e))?, Allocation::OnDemand)
            }
        };
        let mut linker = Linker::new(&engine);
        api::link(&mut linker).map_err(|e| error(&e))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("hermes-plugins")
            .enable_time()
            .build()
            .map_err(|e| error(&e))?;
        Ok(Self {
            clock: Clock::start(engine.weak()),
            engine,
            linker: Arc::new(linker),
            timers: Arc::new(Timers(Some(runtime))),
            idle: Arc::default(),
            calls: Arc::new(Gate::new(CALLS_MAX)),
            notifier_calls: Arc::new(Gate::new(NOTIFIER_CALLS_MAX)),
            allocation,
            metering,
        })
    }

    /// The engine itself.
    pub(crate) fn wasmtime(&self) -> &wasmtime::Engine {
        &self.engine
    }

    /// Everything a plugin can import.
    pub(crate) fn linker(&self) -> &Linker<Guest> {
        &self.linker
    }

    /// How instances are allocated, for `doctor`.
    pub fn allocation(&self) -> Allocation {
        self.allocation
    }

    /// Whether instructions are counted.
    pub fn metering(&self) -> Metering {
        self.metering
    }

    /// Room to keep an instance for the next call, if there is any.
    pub(crate) fn idle_place(&self) -> Option<IdlePlace> {
        let take = |taken: usize| (taken < IDLE_MAX).then_some(taken + 1);
        let taken = self.idle.fetch_update(Ordering::AcqRel, Ordering::Acquire, take);
        taken.is_ok().then(|| IdlePlace(Arc::clone(&self.idle)))
    }

    /// The gate all calls of a hook go through, whatever the plugin.
    pub(crate) fn calls(&self, hook: Hook) -> &Gate {
        if hook.sees_raw_text() { &self.calls } else { &self.notifier_calls }
    }

    /// Drives a call from plain code, on this thread. While it runs, the clock behind CPU limits ticks.
    ///
    /// Works inside an asynchronous runtime too: it blocks the thread for the time of the call, which is bounded.
    pub(crate) fn drive<T>(&self, call: impl Future<Output = T>) -> T {
        let _ticking = self.clock.tick();
        let _context = self.timers.enter();
        block_on(call)
    }
}

/// How many ticks a deadline is: rounded up, and one more, since the current tick is partly over.
pub(crate) fn ticks(time: Duration) -> u64 {
    let ticks = time.as_micros().div_ceil(EPOCH_TICK.as_micros());
    u64::try_from(ticks).unwrap_or(u64::MAX).saturating_add(1)
}

fn config(metering: Metering, allocation: Allocation) -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .wasm_memory64(false)
        .wasm_multi_memory(true)
        .epoch_interruption(true)
        .consume_fuel(metering == Metering::Fuel)
        .concurrency_support(false)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(FIBER_STACK)
        .native_unwind_info(false)
        .wasm_backtrace_max_frames(None)
        .cranelift_opt_level(wasmtime::OptLevel::Speed);
    if allocation == Allocation::OnDemand {
        config
            .memory_reservation(MEMORY_RESERVATION_SMALL)
            .memory_reservation_for_growth(MEMORY_RESERVATION_SMALL)
            .memory_guard_size(MEMORY_GUARD_SMALL);
    } else {
        config.memory_reservation(MEMORY_RESERVATION);
        let mut pool = PoolingAllocationConfig::default();
        pool.total_component_instances(POOL_INSTANCES)
            .total_core_instances(POOL_INSTANCES * CORE_INSTANCES_OF_ONE)
            .max_core_instances_per_component(CORE_INSTANCES_OF_ONE)
            .total_memories(POOL_INSTANCES * MEMORIES_OF_ONE)
            .max_memories_per_component(MEMORIES_OF_ONE)
            .total_tables(POOL_INSTANCES * CORE_INSTANCES_OF_ONE)
            .max_tables_per_component(CORE_INSTANCES_OF_ONE)
            .total_stacks(POOL_INSTANCES)
            .max_memory_size(usize::try_from(MEMORY_RESERVATION).unwrap_or(usize::MAX));
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    config
}

/// Ticks the engine's epoch while at least one call runs, and sleeps otherwise.
struct Clock {
    running: AtomicUsize,
    shared: Arc<ClockShared>,
}

struct ClockShared {
    state: Mutex<ClockState>,
    changed: Condvar,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ClockState {
    Ticking,
    Sleeping,
    Stopped,
}

/// Keeps the clock ticking.
struct Ticking<'a>(&'a Clock);

impl Clock {
    fn start(engine: wasmtime::EngineWeak) -> Arc<Self> {
        let shared = Arc::new(ClockShared { state: Mutex::new(ClockState::Sleeping), changed: Condvar::new() });
        let thread_shared = Arc::downgrade(&shared);
        let spawned = std::thread::Builder::new()
            .name("hermes-epoch".to_owned())
            .spawn(move || run_clock(&thread_shared, &engine));
        // Without the thread no deadline could fire: better to have no host than one that hangs.
        spawned.expect("a thread for the clock behind CPU limits can be started");
        Arc::new(Self { running: AtomicUsize::new(0), shared })
    }

    fn tick(&self) -> Ticking<'_> {
        if self.running.fetch_add(1, Ordering::AcqRel) == 0 {
            self.set(ClockState::Ticking);
        }
        Ticking(self)
    }

    fn set(&self, to: ClockState) {
        let mut state = self.shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        // The count decides, not the order in which two calls reach the lock.
        *state = match to {
            ClockState::Stopped => ClockState::Stopped,
            _ if self.running.load(Ordering::Acquire) > 0 => ClockState::Ticking,
            _ => ClockState::Sleeping,
        };
        if *state != ClockState::Sleeping {
            self.shared.changed.notify_one();
        }
    }
}

impl Drop for Ticking<'_> {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.set(ClockState::Sleeping);
        }
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.set(ClockState::Stopped);
    }
}

fn run_clock(shared: &Weak<ClockShared>, engine: &wasmtime::EngineWeak) {
    while let Some(shared) = shared.upgrade() {
        let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
        while *state == ClockState::Sleeping {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if *state == ClockState::Stopped {
            return;
        }
        drop(state);
        std::thread::sleep(EPOCH_TICK);
        let Some(engine) = engine.upgrade() else { return };
        engine.increment_epoch();
    }
}

/// Polls a future on this thread, parking it in between.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = pin!(future);
    // Most calls never wait: they are done at the first poll, for which no waker is needed.
    if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        return done;
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return done;
        }
        std::thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_never_shorter_than_its_time() {
        assert_eq!(ticks(Duration::ZERO), 1);
        assert_eq!(ticks(EPOCH_TICK), 2);
        assert_eq!(ticks(EPOCH_TICK + Duration::from_nanos(1000)), 3);
    }

    #[test]
    fn a_call_that_waits_is_driven_inside_and_outside_a_runtime() {
        let engine = Engine::start(Metering::Epoch).unwrap();
        let wait = || engine.drive(async { tokio::time::sleep(Duration::from_millis(1)).await });
        wait();
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async { wait() });
    }

    #[test]
    fn an_engine_may_end_inside_a_runtime() {
        let engine = Engine::start(Metering::Epoch).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async { drop(engine) });
    }
}
