//! A redactor on the large JavaScript engine, made by its own compiler as locked, in `target/spidermonkey`: what hermes
//! does not offer, and must load all the same.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use super::{STAMP, below, digest};
use crate::error::TaskError;
use crate::run;
use crate::workspace::Workspace;

/// Builds it, unless it is there.
pub(crate) fn ensure(workspace: &Workspace) -> Result<(), TaskError> {
    let (from, to) = (workspace.root.join("tests").join("spidermonkey"), workspace.target.join("spidermonkey"));
    let (wit, stamp) = (workspace.root.join("plugin-sdk").join("js").join("wit"), to.join(STAMP));
    let (mut sources, mut contract) = (BTreeSet::new(), BTreeSet::new());
    below(&from, &mut sources)?;
    below(&wit, &mut contract)?;
    let wanted = digest(sources.iter().chain(&contract))?;
    if fs::read_to_string(&stamp).is_ok_and(|built| built == wanted) {
        println!("  it is in {}", to.display());
        return Ok(());
    }
    // What is half installed is not mended.
    if to.exists() {
        fs::remove_dir_all(&to).map_err(TaskError::file("remove", &to))?;
    }
    fs::create_dir_all(&to).map_err(TaskError::file("create", &to))?;
    for file in &sources {
        let name = file.file_name().unwrap_or_default();
        fs::copy(file, to.join(name)).map_err(TaskError::file("copy", file))?;
    }
    let npm = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    run::visibly(Command::new("npm").current_dir(&to).args(npm))?;
    run::visibly(Command::new("node").current_dir(&to).arg("build.mjs").arg(&wit).arg("mask-tickets.wasm"))?;
    // A third of a gigabyte that nobody needs any more.
    let packages = to.join("node_modules");
    fs::remove_dir_all(&packages).map_err(TaskError::file("remove", &packages))?;
    fs::write(&stamp, wanted).map_err(TaskError::file("write", &stamp))
}
