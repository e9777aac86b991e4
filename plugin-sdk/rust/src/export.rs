//! The glue between an exported component and the plugin's struct: one instance of the plugin, its panics, and the
//! [`export!`](crate::export) macro. Nothing here is for plugin authors to call.

use std::cell::RefCell;

use crate::hooks::{Failure, Plugin};

/// Holds the one plugin of a component. A component is single-threaded and never entered twice at once.
pub struct Cell<P>(RefCell<Option<P>>);

impl<P: Plugin> Cell<P> {
    /// An empty cell: `configure` has not been called.
    #[must_use]
    pub const fn new() -> Self {
        Self(RefCell::new(None))
    }

    /// Reads the settings and makes the plugin.
    ///
    /// # Errors
    /// `bad-settings` when they are not what the plugin's type reads, or the plugin's own failure.
    pub fn configure(&self, settings: &str) -> Result<(), Failure> {
        let settings = if settings.trim().is_empty() { "{}" } else { settings };
        let settings =
            serde_json::from_str(settings).map_err(|error| Failure::new("bad-settings", error.to_string()))?;
        *self.0.borrow_mut() = Some(P::new(settings)?);
        Ok(())
    }

    /// Calls the plugin.
    ///
    /// # Errors
    /// `not-configured` before `configure`, or the call's own failure.
    pub fn call<R>(&self, call: impl FnOnce(&mut P) -> Result<R, Failure>) -> Result<R, Failure> {
        match self.0.borrow_mut().as_mut() {
            Some(plugin) => call(plugin),
            None => Err(Failure::new("not-configured", "a hook was called before configure")),
        }
    }
}

impl<P: Plugin> Default for Cell<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// An offset as the contract has it. A text never reaches 4 GiB, so a larger one can only be a mistake: it becomes the
/// largest, which the host reads as "to the end".
#[must_use]
pub fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// What a panic may say: where it happened always, why only where no raw text was seen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PanicDetail {
    /// File and line.
    Location,
    /// File, line and message.
    Message,
}

/// Sends each panic to the host's log before the component traps.
#[cfg(target_arch = "wasm32")]
pub fn log_panics(detail: PanicDetail) {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(move |info| {
            let place = info.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
            let line = match (detail, info.payload_as_str()) {
                (PanicDetail::Message, Some(message)) => format!("panicked at {place}: {message}"),
                _ => format!("panicked at {place}"),
            };
            crate::host::log(crate::host::Level::Error, &line);
        }));
    });
}

/// Exports a plugin: `export!(Type: redact)`, `export!(Type: transform)` or `export!(Type: notify)`.
///
/// Name and version are those of the crate that calls it, and must be those of its `plugin.toml`. Where a crate holds
/// several plugins, each gives its own: `export!(Type: redact, name = "mask-ids", version = "1.0.0")`.
#[macro_export]
macro_rules! export {
    ($plugin:ty : $hook:ident) => {
        $crate::export!($plugin: $hook, name = env!("CARGO_PKG_NAME"), version = env!("CARGO_PKG_VERSION"));
    };
    ($plugin:ty : redact, name = $name:expr, version = $version:expr) => {
        #[cfg(target_arch = "wasm32")]
        $crate::__export_lifecycle!($plugin, Location, $name, $version);
        #[cfg(target_arch = "wasm32")]
        $crate::__export_redact!($plugin);
        const _: fn() = || {
            fn redacts<T: $crate::Redact>() {}
            redacts::<$plugin>();
        };
    };
    ($plugin:ty : transform, name = $name:expr, version = $version:expr) => {
        #[cfg(target_arch = "wasm32")]
        $crate::__export_lifecycle!($plugin, Location, $name, $version);
        #[cfg(target_arch = "wasm32")]
        $crate::__export_transform!($plugin);
        const _: fn() = || {
            fn transforms<T: $crate::Transform>() {}
            transforms::<$plugin>();
        };
    };
    ($plugin:ty : notify, name = $name:expr, version = $version:expr) => {
        #[cfg(target_arch = "wasm32")]
        $crate::__export_lifecycle!($plugin, Message, $name, $version);
        #[cfg(target_arch = "wasm32")]
        $crate::__export_notify!($plugin);
        const _: fn() = || {
            fn notifies<T: $crate::Notify>() {}
            notifies::<$plugin>();
        };
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __part {
    ($module:ident, $export:ident) => {
        #[doc(hidden)]
        #[allow(unsafe_code, reason = "the component's exports, generated")]
        mod $export {
            use super::HermesComponent;
            $crate::bindings::$module::$export!(HermesComponent with_types_in $crate::bindings::$module);
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __export_lifecycle {
    ($plugin:ty, $detail:ident, $name:expr, $version:expr) => {
        #[doc(hidden)]
        struct HermesComponent;

        $crate::__part!(lifecycle, __export_lifecycle_part);

        std::thread_local! {
            static HERMES_PLUGIN: $crate::export::Cell<$plugin> = const { $crate::export::Cell::new() };
        }

        const _: () = {
            use $crate::bindings::lifecycle::exports::hermes::hook::lifecycle as wit;

            fn failure(failure: $crate::Failure) -> wit::Failure {
                wit::Failure { code: failure.code, message: failure.message }
            }

            impl wit::Guest for HermesComponent {
                fn describe() -> wit::Descriptor {
                    $crate::export::log_panics($crate::export::PanicDetail::$detail);
                    let own = <$plugin as $crate::Plugin>::descriptor();
                    wit::Descriptor {
                        name: $name.to_owned(),
                        version: $version.to_owned(),
                        counters: own.counters,
                        pattern_sets: own
                            .pattern_sets
                            .into_iter()
                            .map(|set| wit::PatternSet {
                                name: set.name,
                                patterns: set.patterns,
                                case_insensitive: set.case_insensitive,
                            })
                            .collect(),
                        labels: vec![("sdk".to_owned(), $crate::export::SDK.to_owned())],
                    }
                }

                fn configure(settings: String) -> Result<(), wit::Failure> {
                    $crate::export::log_panics($crate::export::PanicDetail::$detail);
                    HERMES_PLUGIN.with(|cell| cell.configure(&settings)).map_err(failure)
                }

                fn self_test() -> Result<(), wit::Failure> {
                    HERMES_PLUGIN.with(|cell| cell.call(|plugin| $crate::Plugin::self_test(plugin))).map_err(failure)
                }
            }
        };
    };
}

/// The label `sdk` of a descriptor.
pub const SDK: &str = concat!("rust ", env!("CARGO_PKG_VERSION"));

#[doc(hidden)]
#[macro_export]
macro_rules! __context {
    ($context:expr) => {
        $crate::Context {
            surface: $context.surface,
            source: $context.source,
            command: $context.command,
            cwd: $context.cwd,
            owner: $context.owner,
            exit_code: $context.exit_code,
            signal: $context.signal,
            labels: $context.labels,
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __export_redact {
    ($plugin:ty) => {
        $crate::__part!(redact, __export_redact_part);

        const _: () = {
            use $crate::bindings::redact::exports::hermes::hook::redact as wit;
            use $crate::export::offset;

            impl wit::Guest for HermesComponent {
                fn scan(context: wit::Context, window: wit::Window) -> Result<wit::Findings, wit::Failure> {
                    let context = $crate::__context!(context);
                    let seen = $crate::Window {
                        text: &window.text,
                        fresh_from: window.fresh_from as usize,
                        front_cut: window.front_cut,
                        last: window.last,
                    };
                    HERMES_PLUGIN
                        .with(|cell| cell.call(|plugin| $crate::Redact::scan(plugin, &context, &seen)))
                        .map(|findings| wit::Findings {
                            spans: findings
                                .spans
                                .into_iter()
                                .map(|span| wit::Span {
                                    start: offset(span.range.start),
                                    end: offset(span.range.end),
                                    rule: span.rule,
                                })
                                .collect(),
                            show_until: offset(findings.show_until),
                            need_from: offset(findings.need_from),
                        })
                        .map_err(|failure| wit::Failure { code: failure.code, message: failure.message })
                }
            }
        };
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __export_transform {
    ($plugin:ty) => {
        $crate::__part!(transform, __export_transform_part);

        const _: () = {
            use $crate::bindings::transform::exports::hermes::hook::transform as wit;
            use $crate::export::offset;

            impl wit::Guest for HermesComponent {
                fn apply(context: wit::Context, text: String) -> Result<wit::Outcome, wit::Failure> {
                    let context = $crate::__context!(context);
                    HERMES_PLUGIN
                        .with(|cell| cell.call(|plugin| $crate::Transform::apply(plugin, &context, &text)))
                        .map(|outcome| match outcome {
                            $crate::Outcome::Unchanged => wit::Outcome::Unchanged,
                            $crate::Outcome::Replaced(text) => wit::Outcome::Replaced(text),
                            $crate::Outcome::Edits(edits) => wit::Outcome::Edits(
                                edits
                                    .into_iter()
                                    .map(|edit| wit::Edit {
                                        start: offset(edit.range.start),
                                        end: offset(edit.range.end),
                                        text: edit.text,
                                    })
                                    .collect(),
                            ),
                        })
                        .map_err(|failure| wit::Failure { code: failure.code, message: failure.message })
                }
            }
        };
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __export_notify {
    ($plugin:ty) => {
        $crate::__part!(notify, __export_notify_part);

        const _: () = {
            use $crate::bindings::notify::exports::hermes::hook::notify as wit;

            impl wit::Guest for HermesComponent {
                fn decide(event: wit::Event) -> Result<wit::Verdict, wit::Failure> {
                    let event = $crate::Event {
                        id: event.id,
                        seq: event.seq,
                        kind: event.kind,
                        source: event.source,
                        command: event.command,
                        owner: event.owner,
                        at_ms: event.at_ms,
                        status: event.status,
                        exit_code: event.exit_code,
                        text: event.text,
                        pattern: event.pattern,
                        labels: event.labels,
                    };
                    HERMES_PLUGIN
                        .with(|cell| cell.call(|plugin| $crate::Notify::decide(plugin, &event)))
                        .map(|verdict| match verdict {
                            $crate::Verdict::Deliver => wit::Verdict::Deliver,
                            $crate::Verdict::Rewrite(text) => wit::Verdict::Rewrite(text),
                            $crate::Verdict::Suppress(reason) => wit::Verdict::Suppress(reason),
                        })
                        .map_err(|failure| wit::Failure { code: failure.code, message: failure.message })
                }
            }
        };
    };
}
