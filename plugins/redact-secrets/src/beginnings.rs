//! What a secret inside base64 begins with once it is decoded. The build script makes anchors of these.

/// Beginnings of tokens and of private keys.
pub(crate) const BEGINNINGS: &[&str] = &["ghp_", "github_pat_", "glpat-", "sk-ant-", "xoxb-", "-----BEGIN "];
