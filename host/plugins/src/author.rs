//! For plugin authors: reading a plugin's folder or file, and packing it into one component.

use std::path::{Path, PathBuf};

use hermes_home::files;
use hermes_model::id::PluginName;

use crate::digest::Digest;
use crate::limits::FILE_MAX;
use crate::manifest::{MANIFEST_MAX, Manifest};
use crate::section::{self, COMPONENT_HEADER};

/// The manifest's file name.
pub const MANIFEST_FILE: &str = "plugin.toml";
/// Where builds leave components, within a plugin's folder, the newest first wins.
const BUILD_FOLDERS: [&str; 4] =
    ["target/wasm32-wasip2/release", "target/wasm32-wasip2/plugin", "target/wasm32-wasip2/debug", "build"];

/// Why a plugin cannot be read or packed.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// The path leads to nothing.
    #[error("there is no '{path}': give a .wasm file or a plugin's folder", path = .0.display())]
    NotFound(PathBuf),
    /// The component cannot be read.
    #[error("the component cannot be read")]
    Component(#[source] files::ReadError),
    /// The manifest cannot be read.
    #[error("the folder has no {MANIFEST_FILE} that can be used; `hermes plugins new` writes one")]
    Manifest(#[source] files::ReadError),
    /// The folder holds no component.
    #[error("'{path}' holds no component: build it first (`hermes plugins build {path}`)", path = .0.display())]
    NotBuilt(PathBuf),
    /// The file is not the one that was asked for. Never published, whatever is allowed.
    #[error(
        "the file has the digest {found}, not {wanted}: it is not the plugin you asked for, so nothing was installed"
    )]
    Digest {
        /// The digest given.
        wanted: Digest,
        /// The file's.
        found: Digest,
    },
    /// Only a component can carry a manifest.
    #[error("'{path}' is not a component, so it cannot be packed: build it with `hermes plugins build`", path = .0.display())]
    NotAComponent(PathBuf),
    /// The folder for the packed file cannot be made.
    #[error("the folder '{path}' cannot be created", path = path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The packed file cannot be written.
    #[error("the packed plugin cannot be written")]
    Write(#[source] files::WriteError),
}

/// A plugin as found on disk.
pub struct Found {
    /// The component with its manifest inside, or the bare file where there is no manifest to put in.
    pub packed: Vec<u8>,
    /// The component's path.
    pub component: PathBuf,
    /// The folder, if one was given.
    pub folder: Option<PathBuf>,
    /// The name its manifest gives, if it can be read.
    pub name: Option<PluginName>,
}

/// Reads a component, or a folder with `plugin.toml` and a component. A folder's files must be in it: links that lead
/// out of it are refused.
///
/// # Errors
/// Something is missing, is not a file, or is too large. A file that is no component is not an error here: the
/// pipeline says what it is.
pub fn read_source(path: &Path) -> Result<Found, PackError> {
    read_pinned(path, None)
}

/// As [`read_source`]. With a digest, nothing of other bytes is looked at.
///
/// # Errors
/// As for [`read_source`], or the bytes have another digest.
pub(crate) fn read_pinned(path: &Path, digest: Option<Digest>) -> Result<Found, PackError> {
    let pinned = |bytes: &[u8]| match digest {
        Some(wanted) if Digest::of(bytes) != wanted => Err(PackError::Digest { wanted, found: Digest::of(bytes) }),
        _ => Ok(()),
    };
    if !path.exists() {
        return Err(PackError::NotFound(path.to_owned()));
    }
    if !path.is_dir() {
        let packed = files::read_still(path, FILE_MAX).map_err(PackError::Component)?;
        pinned(&packed)?;
        let name = section::read(&packed).and_then(name_in);
        return Ok(Found { packed, component: path.to_owned(), folder: None, name });
    }
    let manifest =
        files::read_beneath(path, &path.join(MANIFEST_FILE), MANIFEST_MAX as u64).map_err(PackError::Manifest)?;
    let name = name_in(&manifest);
    let component = component_in(path, name.as_ref()).ok_or_else(|| PackError::NotBuilt(path.to_owned()))?;
    let bytes = files::read_beneath(path, &component, FILE_MAX).map_err(PackError::Component)?;
    // A file that cannot carry a manifest goes on bare, so that the report says what is wrong with it.
    let packed = match std::str::from_utf8(&manifest) {
        Ok(manifest) if bytes.starts_with(&COMPONENT_HEADER) => section::embed(&bytes, manifest),
        _ => bytes,
    };
    pinned(&packed)?;
    Ok(Found { packed, component, folder: Some(path.to_owned()), name })
}

/// The name in a manifest, even if the rest of it is wrong.
pub(crate) fn name_in(manifest: &[u8]) -> Option<PluginName> {
    if let Ok(manifest) = Manifest::parse(manifest) {
        return Some(manifest.name);
    }
    let table: toml::Table = toml::from_str(std::str::from_utf8(manifest).ok()?).ok()?;
    table.get("name")?.as_str()?.parse().ok()
}

/// The component of a folder: `NAME.wasm`, the newest build of it, or the only .wasm file.
fn component_in(folder: &Path, name: Option<&PluginName>) -> Option<PathBuf> {
    if let Some(name) = name {
        let (dashed, underscored) = (format!("{name}.wasm"), format!("{}.wasm", name.as_str().replace('-', "_")));
        for file in [&dashed, &underscored] {
            let path = folder.join(file);
            if path.exists() {
                return Some(path);
            }
        }
        let built = BUILD_FOLDERS
            .iter()
            .flat_map(|build| [folder.join(build).join(&dashed), folder.join(build).join(&underscored)]);
        let newest = built.filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path))).max();
        if let Some((_, path)) = newest {
            return Some(path);
        }
    }
    let mut components = folder.read_dir().ok()?.flatten().map(|entry| entry.path());
    let is_wasm = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "wasm");
    let first = components.find(is_wasm)?;
    if components.any(|path| is_wasm(&path)) { None } else { Some(first) }
}

/// Packs a folder into one file: `NAME-VERSION.wasm` in it, or the path given.
///
/// # Errors
/// The folder cannot be read, or holds no component.
pub fn pack(folder: &Path, out: Option<&Path>) -> Result<PathBuf, PackError> {
    let source = read_source(folder)?;
    let Some(manifest) = section::read(&source.packed) else {
        return Err(PackError::NotAComponent(source.component));
    };
    let version = Manifest::parse(manifest).ok().map(|manifest| manifest.version.to_string());
    let stem = match (&source.name, version) {
        (Some(name), Some(version)) => format!("{name}-{version}"),
        (Some(name), None) => name.to_string(),
        _ => "plugin".to_owned(),
    };
    let out = match out {
        Some(out) => out.to_owned(),
        None => source.folder.as_deref().unwrap_or(folder).join("dist").join(format!("{stem}.wasm")),
    };
    if let Some(parent) = out.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent).map_err(|source| PackError::Folder { path: parent.to_owned(), source })?;
    }
    files::write_atomically(&out, &source.packed).map_err(PackError::Write)?;
    Ok(out)
}
