//! Whether a plugin loads in the hosts of other versions of the contract, without any of them: the matrix of `check`.
//!
//! What a file is in itself and what its trial showed is the same in every host of a contract; what it imports, exports
//! and requires is compared with each. This module must never run or compile anything.

use serde::Serialize;

use crate::check;
use crate::contract::Contract;
use crate::examined::Examined;
use crate::load::for_hermes;
use crate::problem::{Code, Problem};

/// What would become of the plugin in a host of one contract.
#[derive(Clone, Debug, Serialize)]
pub struct Against {
    /// The version of `hermes:host`.
    pub host: String,
    /// The version of `hermes:hook`.
    pub hook: String,
    /// The first hermes that offered both.
    pub hermes: String,
    /// Whether it is what this hermes offers.
    #[serde(skip)]
    pub current: bool,
    /// Whether the plugin would load there.
    pub ok: bool,
    /// Why it would not.
    pub problems: Vec<Problem>,
}

/// A row for each contract. What an operator has not granted is no reason here: that is asked in every host anew.
pub(crate) fn matrix(examined: &Examined, contracts: &[&Contract]) -> Vec<Against> {
    let here =
        examined.surface.as_ref().map(|surface| check::compare(surface, Contract::current())).unwrap_or_default();
    let elsewhere: Vec<&Problem> = examined
        .problems
        .iter()
        .filter(|problem| problem.code != Code::RequiresHermes && !here.contains(problem))
        .collect();
    contracts
        .iter()
        .map(|contract| {
            let surface = examined.surface.as_ref();
            let mut found = surface.map(|surface| check::compare(surface, contract)).unwrap_or_default();
            found.extend(examined.manifest.as_ref().and_then(|manifest| for_hermes(manifest, &contract.hermes)));
            // What does not fit is not tried there.
            let tried = found.is_empty();
            found.extend(elsewhere.iter().filter(|problem| tried || !of_trial(problem.code)).copied().cloned());
            Against {
                host: contract.host.to_string(),
                hook: contract.hook.to_string(),
                hermes: contract.hermes.to_string(),
                current: contract.is_current(),
                ok: found.is_empty(),
                problems: found,
            }
        })
        .collect()
}

/// Whether only a trial shows it.
fn of_trial(code: Code) -> bool {
    matches!(code, Code::StartTrap | Code::SelfTest | Code::Canary)
}
