//! What a text prints, as far as it can be told: for whoever in the same text reads it and runs it.
//!
//! Which command feeds which is not followed: where somebody runs what they read, everything that is printed may be it.

use super::Reason;
use super::args::{Arg, program_name};
use super::expand::Variables;
use super::limits::Budget;
use super::words::{Part, Redirection, Simple, Word};

/// What a text prints and writes. Raw text.
#[derive(Default)]
pub(crate) struct Printed {
    /// What echo, printf and here-documents print.
    pub(crate) texts: Vec<String>,
    /// Arguments of other programs that may be commands: filters write what they are given.
    pub(crate) others: Vec<String>,
    /// Files that are printed.
    pub(crate) files: Vec<String>,
    /// Files that are written, with what is written into each.
    pub(crate) written: Vec<(String, Vec<String>)>,
}

/// Reads what a text prints.
///
/// # Errors
/// Words grow without end.
pub(crate) fn read(list: &[Simple], variables: &Variables, budget: &mut Budget) -> Result<Printed, Reason> {
    let mut printed = Printed::default();
    let mut copied_into = Vec::new();
    commands(list, variables, budget, &mut printed, &mut copied_into)?;
    for path in copied_into {
        let texts = printed.texts.clone();
        budget.work(texts.iter().map(String::len).sum())?;
        printed.written.push((path, texts));
    }
    Ok(printed)
}

fn commands(
    list: &[Simple],
    variables: &Variables,
    budget: &mut Budget,
    printed: &mut Printed,
    copied_into: &mut Vec<String>,
) -> Result<(), Reason> {
    for simple in list {
        for word in &simple.words {
            inside(&word.0, variables, budget, printed, copied_into)?;
        }
        one(simple, variables, budget, printed, copied_into)?;
    }
    Ok(())
}

fn inside(
    parts: &[Part],
    variables: &Variables,
    budget: &mut Budget,
    printed: &mut Printed,
    copied_into: &mut Vec<String>,
) -> Result<(), Reason> {
    for part in parts {
        match part {
            Part::Substitution(list) => commands(list, variables, budget, printed, copied_into)?,
            Part::Unknown(inner) | Part::Variable { default: inner, .. } => {
                inside(inner, variables, budget, printed, copied_into)?;
            }
            Part::Plain(_) | Part::Quoted(_) => {}
        }
    }
    Ok(())
}

fn one(
    simple: &Simple,
    variables: &Variables,
    budget: &mut Budget,
    printed: &mut Printed,
    copied_into: &mut Vec<String>,
) -> Result<(), Reason> {
    let words = |words: &[Word], budget: &mut Budget| -> Result<Vec<Arg>, Reason> {
        let mut args = Vec::new();
        for word in words {
            args.extend(variables.expand(word, budget)?);
        }
        Ok(args)
    };
    let args = words(&simple.words, budget)?;
    let mut here = Vec::new();
    let name = args.first().map_or("", |first| program_name(first.text()));
    let rest = args.get(1..).unwrap_or_default();
    match name {
        "echo" | "printf" | "print" => here.push(said(rest)),
        "cat" | "tac" | "head" | "tail" | "base64" => {
            printed.files.extend(rest.iter().map(|arg| arg.text().to_owned()).filter(|text| !text.starts_with('-')));
        }
        "tee" => copied_into.extend(rest.iter().map(|arg| arg.text().to_owned())),
        _ => {
            let texts = rest.iter().map(Arg::text).filter(|text| text.contains(char::is_whitespace));
            printed.others.extend(texts.map(str::to_owned));
        }
    }
    let mut files = Vec::new();
    for redirection in &simple.redirections {
        match redirection {
            Redirection::To(word) => files.extend(words(std::slice::from_ref(word), budget)?),
            Redirection::HereString(word) => {
                here.extend(words(std::slice::from_ref(word), budget)?.into_iter().map(|arg| arg.0));
            }
            Redirection::Here(lines) => here.extend(lines.get().map(|lines| lines.text.clone())),
            Redirection::From(_) => {}
        }
    }
    budget.work(here.iter().map(|text| text.len() * (files.len() + 1)).sum())?;
    printed.written.extend(files.into_iter().map(|file| (file.0, here.clone())));
    printed.texts.extend(here);
    Ok(())
}

/// What echo and printf make of their arguments: the words, and lines where they are told to make lines.
fn said(args: &[Arg]) -> String {
    let words = args.iter().map(Arg::text).skip_while(|text| text.starts_with('-') && text.len() < 4);
    words.collect::<Vec<_>>().join(" ").replace("\\n", "\n").replace("\\t", "\t")
}
