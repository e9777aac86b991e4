//! Builds the book. Its table of contents and its folder must agree: no chapter missing, none forgotten.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::TaskError;
use crate::run;
use crate::steps::Steps;
use crate::tools;
use crate::workspace::Workspace;

/// `cargo xtask docs`.
pub(crate) fn run() -> Result<(), TaskError> {
    let workspace = Workspace::find()?;
    let book = workspace.root.join("docs");
    let built = workspace.target.join("book");
    let mut steps = Steps::new(2);
    steps.step("the chapters", || {
        let chapters = check(&book.join("src"))?;
        println!("  {chapters} chapters, each with its file");
        Ok(())
    })?;
    steps.step("the book", || {
        tools::require("mdbook", "install it with `cargo install mdbook --locked` and run this task again")?;
        run::visibly(Command::new("mdbook").arg("build").arg(&book).arg("--dest-dir").arg(&built))
    })?;
    let page = format!("open {}", built.join("index.html").display());
    steps.finish("docs", &[&page]);
    Ok(())
}

/// Checks the table of contents against the folder and counts the chapters.
fn check(source: &Path) -> Result<usize, TaskError> {
    let summary = source.join("SUMMARY.md");
    let text = fs::read_to_string(&summary).map_err(TaskError::file("read", &summary))?;
    let listed: BTreeSet<PathBuf> = chapters(&text).into_iter().map(|chapter| source.join(chapter)).collect();
    if let Some(missing) = listed.iter().find(|chapter| !chapter.is_file()) {
        return Err(TaskError::Book(format!("SUMMARY.md names '{}', which does not exist", missing.display())));
    }
    let mut found = BTreeSet::new();
    pages(source, &mut found)?;
    found.remove(&summary);
    if let Some(forgotten) = found.difference(&listed).next() {
        return Err(TaskError::Book(format!("SUMMARY.md does not name '{}'", forgotten.display())));
    }
    Ok(listed.len())
}

/// The targets of the links of a table of contents.
fn chapters(summary: &str) -> Vec<&str> {
    summary.lines().filter_map(|line| line.split_once("](")?.1.split_once(')')).map(|(target, _)| target).collect()
}

fn pages(folder: &Path, found: &mut BTreeSet<PathBuf>) -> Result<(), TaskError> {
    for entry in fs::read_dir(folder).map_err(TaskError::file("read", folder))? {
        let path = entry.map_err(TaskError::file("read", folder))?.path();
        if path.is_dir() {
            pages(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.insert(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_contents_and_the_folder_must_agree() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("a")).unwrap();
        fs::write(temp.path().join("SUMMARY.md"), "# S\n\n[I](i.md)\n- [A](a/a.md)\n").unwrap();
        fs::write(temp.path().join("i.md"), "").unwrap();
        assert!(check(temp.path()).unwrap_err().to_string().contains("a/a.md"));
        fs::write(temp.path().join("a/a.md"), "").unwrap();
        assert_eq!(check(temp.path()).unwrap(), 2);
        fs::write(temp.path().join("a/b.md"), "").unwrap();
        assert!(check(temp.path()).unwrap_err().to_string().contains("a/b.md"));
    }
}
