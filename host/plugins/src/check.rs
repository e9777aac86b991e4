//! Compares what a component imports and exports with what a host offers, and reports every difference.
//!
//! Pure: a surface and a contract in, problems out. The linker later says yes or no once more; this module is the one that says why.

use hermes_model::hook::Hook;
use hermes_model::suggest;
use semver::Version;

use crate::contract::{self, Access, Contract, HOOK_PACKAGE, HOST_PACKAGE};
use crate::problem::{Code, Problem};
use crate::surface::{Function, Interface, Shape, Surface};

/// An interface's name taken apart: `package/interface@version`.
struct Name<'a> {
    full: &'a str,
    package: &'a str,
    interface: &'a str,
    version: Option<Version>,
}

impl<'a> Name<'a> {
    fn parse(full: &'a str) -> Option<Self> {
        let (path, version) = match full.split_once('@') {
            Some((path, version)) => (path, Some(Version::parse(version).ok()?)),
            None => (full, None),
        };
        let (package, interface) = path.split_once('/')?;
        Some(Self { full, package, interface, version })
    }
}

/// Versions of one track can stand in for each other: the same major, below 1.0.0 the same minor. A prerelease is a
/// track of its own.
pub fn same_track(a: &Version, b: &Version) -> bool {
    if !a.pre.is_empty() || !b.pre.is_empty() {
        return a == b;
    }
    match (a.major, b.major) {
        (0, 0) if a.minor == 0 => a == b,
        (0, 0) => a.minor == b.minor,
        _ => a.major == b.major,
    }
}

/// A track in words: `0.1`.
fn track(version: &Version) -> String {
    format!("{}.{}", version.major, version.minor)
}

/// The hooks a component exports in the track this host drives.
pub fn hooks_of(surface: &Surface) -> Vec<Hook> {
    let ours = contract::hook_version();
    Hook::ALL
        .into_iter()
        .filter(|hook| {
            surface.exports.keys().filter_map(|name| Name::parse(name)).any(|name| {
                name.package == HOOK_PACKAGE
                    && name.interface == hook.name()
                    && name.version.is_some_and(|version| same_track(&version, &ours))
            })
        })
        .collect()
}

/// The track of each contract package a component was built for, for the list: `(hook, host)`.
pub fn tracks_of(surface: &Surface) -> (Option<String>, Option<String>) {
    let of = |package: &str, names: &mut dyn Iterator<Item = &String>| {
        names
            .filter_map(|name| Name::parse(name))
            .filter(|name| name.package == package)
            .filter_map(|name| name.version)
            .max()
            .map(|version| version.to_string())
    };
    (of(HOOK_PACKAGE, &mut surface.exports.keys()), of(HOST_PACKAGE, &mut surface.imports.keys()))
}

/// Everything in which the component and a host of this contract do not fit. "This hermes" in a message is that host.
pub fn compare(surface: &Surface, contract: &Contract) -> Vec<Problem> {
    let hooks = hooks_of(surface);
    let raw = hooks.iter().copied().find(|hook| hook.sees_raw_text());
    let mut problems = Vec::new();
    for (name, interface) in &surface.imports {
        import(name, interface, raw, contract, &mut problems);
    }
    for name in &surface.loose_imports {
        problems.push(Problem::new(
            Code::ImportUnknown,
            name,
            format!("it imports '{name}', which is not an interface"),
            "build it for one of the worlds of hermes:hook (see `hermes plugins new`)",
        ));
    }
    exports(surface, &hooks, contract, &mut problems);
    problems
}

fn import(full: &str, interface: &Interface, raw: Option<Hook>, contract: &Contract, problems: &mut Vec<Problem>) {
    let Some(name) = Name::parse(full) else {
        problems.push(unknown_import(full, contract));
        return;
    };
    match name.package {
        HOST_PACKAGE => host_import(&name, interface, raw, contract, problems),
        HOOK_PACKAGE => hook_import(&name, contract, problems),
        "wasi:http" => problems.push(
            Problem::new(
                Code::ImportDenied,
                full,
                format!("{full} is offered to no plugin"),
                "build it without wasi:http; a notifier can use hermes:host/http instead",
            )
            .compared(full, "nothing"),
        ),
        package if package.starts_with("wasi:") => wasi_import(&name, contract, problems),
        _ => problems.push(unknown_import(full, contract)),
    }
}

fn unknown_import(full: &str, contract: &Contract) -> Problem {
    Problem::new(
        Code::ImportUnknown,
        full,
        format!("no version of hermes offers {full}"),
        "build it against hermes:host only, or run it in the host it was made for",
    )
    .compared(full, format!("{HOST_PACKAGE}@{}", contract.host))
}

fn host_import(
    name: &Name<'_>,
    interface: &Interface,
    raw: Option<Hook>,
    contract: &Contract,
    problems: &mut Vec<Problem>,
) {
    let ours = &contract.host;
    let offer = format!("{HOST_PACKAGE}@{ours}");
    let Some(version) = &name.version else {
        problems.push(unknown_import(name.full, contract));
        return;
    };
    if !same_track(version, ours) {
        problems.push(other_track(name, version, ours));
        return;
    }
    let Some(offered) = contract.host_interfaces().get(name.interface) else {
        problems.push(missing_interface(name, version, contract));
        return;
    };
    if let (Some(hook), Access::NotifierOnly) = (raw, offered.access) {
        problems.push(
            Problem::new(
                Code::MixedPrivilege,
                name.full,
                format!("it exports {hook}, which sees raw text, and imports {}, which can carry it away", name.full),
                "split it: one component that sees raw text, and a notifier that talks",
            )
            .compared(name.full, "log, count, scan for a raw-text hook"),
        );
    }
    for (function, wanted) in interface {
        let subject = format!("{}#{function}", name.full);
        match offered.functions.get(function) {
            None => problems.push(
                Problem::new(
                    Code::ImportTooNew,
                    &subject,
                    format!("{offer} has no function '{function}' in '{}'", name.interface),
                    "update hermes, or build the plugin for the contract this hermes offers",
                )
                .compared(&subject, &offer),
            ),
            Some(have) => {
                if let Some(difference) = function_difference(wanted, have) {
                    problems.push(
                        Problem::new(
                            Code::ImportShape,
                            &subject,
                            format!("{subject} has another shape than here: {difference}"),
                            "rebuild the plugin with the SDK of this hermes: its interface was never released so",
                        )
                        .compared(&subject, &offer),
                    );
                }
            }
        }
    }
}

/// The contract of another track: dropped, or not here yet.
fn other_track(name: &Name<'_>, wanted: &Version, ours: &Version) -> Problem {
    let offered = format!("{}@{ours}", name.package);
    if wanted > ours {
        Problem::new(
            Code::ImportTooNew,
            name.full,
            format!("built for {} {}; this hermes offers {}", name.package, track(wanted), track(ours)),
            "update hermes, or install a version of the plugin built for this track",
        )
        .compared(name.full, offered)
    } else {
        Problem::new(
            Code::ImportRemoved,
            name.full,
            format!(
                "built for {} {}, which is no longer offered; this hermes offers {}",
                name.package,
                wanted,
                track(ours)
            ),
            "rebuild the plugin with the SDK of this hermes",
        )
        .compared(name.full, offered)
    }
}

fn missing_interface(name: &Name<'_>, wanted: &Version, contract: &Contract) -> Problem {
    let ours = &contract.host;
    let known: Vec<&str> = contract.host_interfaces().keys().map(String::as_str).collect();
    let offered = format!("{HOST_PACKAGE}@{ours}");
    if wanted > ours {
        Problem::new(
            Code::ImportTooNew,
            name.full,
            format!("{} came with a later {HOST_PACKAGE} than {ours}", name.full),
            "update hermes",
        )
        .compared(name.full, offered)
    } else {
        Problem::new(
            Code::ImportRemoved,
            name.full,
            format!("{offered} has no interface '{}'{}", name.interface, suggest::hint(name.interface, &known)),
            "rebuild the plugin with the SDK of this hermes",
        )
        .compared(name.full, offered)
    }
}

/// A plugin imports the hook package only for its types; what counts is the track.
fn hook_import(name: &Name<'_>, contract: &Contract, problems: &mut Vec<Problem>) {
    let ours = &contract.hook;
    match &name.version {
        Some(version) if same_track(version, ours) => {}
        Some(version) => problems.push(other_track(name, version, ours)),
        None => problems.push(unknown_import(name.full, contract)),
    }
}

fn wasi_import(name: &Name<'_>, contract: &Contract, problems: &mut Vec<Problem>) {
    let ours = contract::wasi_version();
    let offered = format!("{}@{ours}", name.package);
    let path = format!("{}/{}", name.package, name.interface);
    let Some(version) = &name.version else {
        problems.push(unknown_import(name.full, contract));
        return;
    };
    let known = contract::WASI_INTERFACES.contains(&path.as_str());
    if known && same_track(version, &ours) {
        return;
    }
    let package_known = contract::WASI_INTERFACES.iter().any(|known| known.starts_with(name.package));
    let problem = if package_known && !same_track(version, &ours) {
        let code = if *version > ours { Code::ImportTooNew } else { Code::ImportRemoved };
        let message = format!("built for {} {version}; this hermes offers {}", name.package, track(&ours));
        Problem::new(code, name.full, message, "build it for wasm32-wasip2")
    } else {
        let message = format!("{} is not among the WASI interfaces a plugin gets", name.full);
        Problem::new(Code::ImportUnknown, name.full, message, "build it for wasm32-wasip2, without this interface")
    };
    problems.push(problem.compared(name.full, offered));
}

fn exports(surface: &Surface, hooks: &[Hook], contract: &Contract, problems: &mut Vec<Problem>) {
    let ours = &contract.hook;
    let theirs: Vec<Name<'_>> = surface
        .exports
        .keys()
        .filter_map(|name| Name::parse(name))
        .filter(|name| name.package == HOOK_PACKAGE)
        .collect();
    let exported = |interface: &str| {
        theirs.iter().find(|name| {
            name.interface == interface && name.version.as_ref().is_some_and(|version| same_track(version, ours))
        })
    };
    if theirs.is_empty() {
        problems.push(
            Problem::new(
                Code::NoHooks,
                "",
                "it exports no hook of hermes",
                "export transform, redact or notify of hermes:hook (`hermes plugins new` writes a plugin that does)",
            )
            .offering(format!("{HOOK_PACKAGE}@{ours}")),
        );
        return;
    }
    for name in &theirs {
        if let Some(version) = &name.version
            && !same_track(version, ours)
        {
            let next = if version > ours {
                "update hermes, or install a version of the plugin built for this track"
            } else {
                "rebuild the plugin with the SDK of this hermes"
            };
            let message = format!("it exports {}; this hermes drives {HOOK_PACKAGE} {}", name.full, track(ours));
            let offered = format!("{HOOK_PACKAGE}/{}@{ours}", name.interface);
            problems.push(Problem::new(Code::ExportMissing, name.full, message, next).compared(name.full, offered));
        }
    }
    let current = theirs.iter().any(|name| name.version.as_ref().is_some_and(|version| same_track(version, ours)));
    if current && hooks.is_empty() {
        problems.push(
            Problem::new(
                Code::NoHooks,
                "",
                "it exports no hook of hermes beside its lifecycle",
                "export transform, redact or notify of hermes:hook",
            )
            .offering(format!("{HOOK_PACKAGE}@{ours}")),
        );
    }
    if !current {
        return;
    }
    for interface in std::iter::once("lifecycle").chain(hooks.iter().map(|hook| hook.name())) {
        let wanted = format!("{HOOK_PACKAGE}/{interface}@{ours}");
        let Some(name) = exported(interface) else {
            problems.push(
                Problem::new(
                    Code::ExportMissing,
                    &wanted,
                    format!("it does not export {wanted}"),
                    "export it: every plugin has a lifecycle",
                )
                .compared("nothing", &wanted),
            );
            continue;
        };
        export_shapes(name, &surface.exports[name.full], interface, contract, problems);
    }
}

fn export_shapes(name: &Name<'_>, have: &Interface, interface: &str, contract: &Contract, problems: &mut Vec<Problem>) {
    for (function, wanted) in contract.hook_interface(interface) {
        let subject = format!("{}#{function}", name.full);
        let offered = format!("{HOOK_PACKAGE}@{}", contract.hook);
        match have.get(function) {
            None => problems.push(
                Problem::new(
                    Code::ExportMissing,
                    &subject,
                    format!("it does not export {subject}"),
                    "rebuild the plugin with the SDK of this hermes",
                )
                .compared("nothing", &subject),
            ),
            Some(have) => {
                if let Some(difference) = function_difference(have, wanted) {
                    problems.push(
                        Problem::new(
                            Code::ExportShape,
                            &subject,
                            format!("{subject} has another shape than here: {difference}"),
                            "rebuild the plugin with the SDK of this hermes",
                        )
                        .compared(&subject, &offered),
                    );
                }
            }
        }
    }
}

/// The first place in which the plugin's function and the host's differ, in words.
fn function_difference(plugin: &Function, host: &Function) -> Option<String> {
    if plugin.params.len() != host.params.len() {
        return Some(format!("{} parameters, {} here", plugin.params.len(), host.params.len()));
    }
    for ((plugin_name, plugin), (host_name, host)) in plugin.params.iter().zip(&host.params) {
        if plugin_name != host_name {
            return Some(format!("parameter '{plugin_name}' is called '{host_name}' here"));
        }
        if let Some(difference) = shape_difference(plugin, host, &format!("parameter '{host_name}'")) {
            return Some(difference);
        }
    }
    match (&plugin.result, &host.result) {
        (None, None) => None,
        (Some(plugin), Some(host)) => shape_difference(plugin, host, "the result"),
        (Some(_), None) => Some("it returns something, nothing here".to_owned()),
        (None, Some(_)) => Some("it returns nothing, something here".to_owned()),
    }
}

fn shape_difference(plugin: &Shape, host: &Shape, at: &str) -> Option<String> {
    match (plugin, host) {
        (Shape::Record(plugin), Shape::Record(host)) => names_difference(&names(plugin), &names(host), "field", at)
            .or_else(|| {
                plugin.iter().zip(host).find_map(|((name, plugin), (_, host))| {
                    shape_difference(plugin, host, &format!("field '{name}' of {at}"))
                })
            }),
        (Shape::Variant(plugin), Shape::Variant(host)) => names_difference(&names(plugin), &names(host), "case", at)
            .or_else(|| {
                plugin.iter().zip(host).find_map(|((name, plugin), (_, host))| {
                    optional_difference(plugin.as_ref(), host.as_ref(), &format!("case '{name}' of {at}"))
                })
            }),
        (Shape::Enum(plugin), Shape::Enum(host)) | (Shape::Flags(plugin), Shape::Flags(host)) => names_difference(
            &plugin.iter().map(String::as_str).collect::<Vec<_>>(),
            &host.iter().map(String::as_str).collect::<Vec<_>>(),
            "name",
            at,
        ),
        (Shape::List(plugin), Shape::List(host)) => shape_difference(plugin, host, &format!("an item of {at}")),
        (Shape::Option(plugin), Shape::Option(host)) => shape_difference(plugin, host, at),
        (Shape::Tuple(plugin), Shape::Tuple(host)) if plugin.len() == host.len() => plugin
            .iter()
            .zip(host)
            .enumerate()
            .find_map(|(index, (plugin, host))| shape_difference(plugin, host, &format!("item {index} of {at}"))),
        (Shape::Result(plugin_ok, plugin_err), Shape::Result(host_ok, host_err)) => {
            optional_difference(plugin_ok.as_deref(), host_ok.as_deref(), &format!("the success of {at}")).or_else(
                || optional_difference(plugin_err.as_deref(), host_err.as_deref(), &format!("the failure of {at}")),
            )
        }
        (plugin, host) if plugin == host => None,
        (plugin, host) => Some(format!("{at} is {plugin}, {host} here")),
    }
}

fn optional_difference(plugin: Option<&Shape>, host: Option<&Shape>, at: &str) -> Option<String> {
    match (plugin, host) {
        (None, None) => None,
        (Some(plugin), Some(host)) => shape_difference(plugin, host, at),
        (Some(plugin), None) => Some(format!("{at} holds {plugin}, nothing here")),
        (None, Some(host)) => Some(format!("{at} holds nothing, {host} here")),
    }
}

fn names<T>(items: &[(String, T)]) -> Vec<&str> {
    items.iter().map(|(name, _)| name.as_str()).collect()
}

fn names_difference(plugin: &[&str], host: &[&str], kind: &str, at: &str) -> Option<String> {
    if plugin == host {
        return None;
    }
    let extra: Vec<_> = plugin.iter().filter(|name| !host.contains(name)).copied().collect();
    let missing: Vec<_> = host.iter().filter(|name| !plugin.contains(name)).copied().collect();
    let mut said = format!("{at} has {} {kind}s, {} here", plugin.len(), host.len());
    if !extra.is_empty() {
        said += &format!("; not here: {}", extra.join(", "));
    }
    if !missing.is_empty() {
        said += &format!("; missing: {}", missing.join(", "));
    }
    if extra.is_empty() && missing.is_empty() {
        said += ", in another order";
    }
    Some(said)
}
