//! The generated bindings. [`crate::export!`] and [`crate::host`] are the only users.
//!
//! Each exported interface has a part-world of its own, because the generated export macros live at the crate's root
//! and `lifecycle` would otherwise be there once a world. The linker unites the parts a plugin uses into its world.

#![allow(missing_docs, clippy::all, clippy::pedantic, unused, unsafe_code, reason = "generated from wit/")]

macro_rules! part {
    ($module:ident, $world:literal, $macro:literal, $path:literal, $inline:literal) => {
        pub mod $module {
            wit_bindgen::generate!({
                path: ["wit/host/v0.1", "wit/hook/v0.1"],
                inline: $inline,
                world: $world,
                pub_export_macro: true,
                export_macro_name: $macro,
                default_bindings_module: $path,
                generate_all,
            });
        }
    };
}

part!(
    lifecycle,
    "hermes:sdk/lifecycle-part",
    "__export_lifecycle_part",
    "hermes_plugin_sdk::bindings::lifecycle",
    "package hermes:sdk; world lifecycle-part { export hermes:hook/lifecycle@0.1.0; }"
);
part!(
    redact,
    "hermes:sdk/redact-part",
    "__export_redact_part",
    "hermes_plugin_sdk::bindings::redact",
    "package hermes:sdk; world redact-part { export hermes:hook/redact@0.1.0; }"
);
part!(
    transform,
    "hermes:sdk/transform-part",
    "__export_transform_part",
    "hermes_plugin_sdk::bindings::transform",
    "package hermes:sdk; world transform-part { export hermes:hook/transform@0.1.0; }"
);
part!(
    notify,
    "hermes:sdk/notify-part",
    "__export_notify_part",
    "hermes_plugin_sdk::bindings::notify",
    "package hermes:sdk; world notify-part { export hermes:hook/notify@0.1.0; }"
);

/// What the host offers. A component imports of it only what it calls.
pub mod imports {
    wit_bindgen::generate!({
        path: ["wit/host/v0.1", "wit/hook/v0.1"],
        inline: "package hermes:sdk; world imports-part {
            import hermes:host/log@0.1.1;
            import hermes:host/count@0.1.1;
            import hermes:host/scan@0.1.1;
            import hermes:host/clock@0.1.1;
            import hermes:host/storage@0.1.1;
            import hermes:host/http@0.1.1;
        }",
        world: "hermes:sdk/imports-part",
        generate_all,
    });
}
