//! What the examples in JavaScript are built with. `hermes plugins build` itself installs the compiler their lock file
//! names; it needs Node.js for that.

use crate::error::TaskError;
use crate::tools;
use crate::workspace::Workspace;

/// Asks for Node.js and npm.
pub(crate) fn install(_: &Workspace) -> Result<(), TaskError> {
    tools::require("node", "install Node.js 20 or later: https://nodejs.org, or `apt install nodejs`")?;
    tools::require("npm", "it comes with Node.js: https://nodejs.org, or `apt install npm`")
}
