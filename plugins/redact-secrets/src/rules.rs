//! The table of rules: names that stand in masks, and the tokens that can be told by their prefix. Shapes are facts
//! published by the services that issue the tokens; a shape that is only usual, not promised, gets a lower bound only.

/// A rule: what stands in the mask, and which of two overlapping rules gives the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// The name in the mask.
    pub(crate) name: &'static str,
    /// The higher rank names a united span.
    pub(crate) rank: u8,
}

/// Rank of a rule that knows exactly what it found.
const EXACT: u8 = 5;
/// Rank of a rule that knows the place a secret stands in.
const PLACE: u8 = 3;
/// Rank of a rule that goes by a name.
const NAMED: u8 = 1;

const fn rule(name: &'static str, rank: u8) -> Rule {
    Rule { name, rank }
}

pub(crate) const PRIVATE_KEY: Rule = rule("private-key", EXACT + 1);
pub(crate) const JWT: Rule = rule("jwt", EXACT);
pub(crate) const TELEGRAM: Rule = rule("telegram-token", EXACT);
pub(crate) const ZHIPU: Rule = rule("zhipu-key", EXACT);
pub(crate) const AWS_SECRET: Rule = rule("aws-secret-key", EXACT);
pub(crate) const URL_PASSWORD: Rule = rule("url-password", PLACE);
pub(crate) const URL_TOKEN: Rule = rule("url-token", PLACE);
pub(crate) const URL_PARAM: Rule = rule("url-param", PLACE);
pub(crate) const AUTH_HEADER: Rule = rule("auth-header", PLACE);
pub(crate) const COOKIE: Rule = rule("cookie", PLACE);
pub(crate) const K8S: Rule = rule("kubernetes-secret", PLACE - 1);
pub(crate) const TERRAFORM: Rule = rule("terraform-sensitive", PLACE - 1);
pub(crate) const NETRC: Rule = rule("netrc-password", PLACE - 1);
pub(crate) const FLAG: Rule = rule("command-line", PLACE - 1);
pub(crate) const PASSWORD: Rule = rule("password", NAMED);
pub(crate) const ASSIGNMENT: Rule = rule("assignment", NAMED);
pub(crate) const ENCODED: Rule = rule("encoded-secret", EXACT - 1);
pub(crate) const PHONE: Rule = rule("phone", NAMED - 1);

/// What a token's body is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// Letters and digits.
    Alnum,
    /// Letters, digits, `_` and `-`.
    Word,
    /// Letters, digits, `_`, `-` and single dots inside.
    Dotted,
    /// Letters, digits, `+`, `/`, `=`, `_`, `-` and dots.
    Base64,
    /// Lower-case hexadecimal.
    Hex,
    /// Upper-case letters and digits.
    Upper,
}

/// How sure the prefix alone makes us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sure {
    /// The prefix is seen nowhere else: any body that is not a placeholder.
    Yes,
    /// The prefix also begins ordinary names: the body must look random.
    Random,
    /// Besides, a body of exactly `max` makes a left boundary unnecessary.
    Glued,
}

/// A token that is told by its prefix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    /// The literal prefix.
    pub(crate) prefix: &'static str,
    /// What follows.
    pub(crate) body: Body,
    /// Fewest bytes of the body.
    pub(crate) min: usize,
    /// Most bytes of the body; equal to `min` where the length is fixed.
    pub(crate) max: usize,
    /// The body's usual length if the issuer fixes it, for tokens wrapped over lines; else 0.
    pub(crate) whole: usize,
    /// How sure the prefix makes us.
    pub(crate) sure: Sure,
    /// Whether only the body is masked (the prefix is a public address).
    pub(crate) body_only: bool,
    /// The rule.
    pub(crate) rule: Rule,
}

/// Longest token body: longer is data, not a token.
pub(crate) const MAX_BODY: usize = 4096;

const fn token(prefix: &'static str, body: Body, min: usize, sure: Sure, name: &'static str) -> Token {
    Token { prefix, body, min, max: MAX_BODY, whole: 0, sure, body_only: false, rule: rule(name, EXACT) }
}

const fn fixed(prefix: &'static str, body: Body, size: usize, name: &'static str) -> Token {
    Token {
        prefix,
        body,
        min: size,
        max: size,
        whole: size,
        sure: Sure::Yes,
        body_only: false,
        rule: rule(name, EXACT),
    }
}

const fn whole(prefix: &'static str, min: usize, size: usize, name: &'static str) -> Token {
    Token {
        prefix,
        body: Body::Alnum,
        min,
        max: MAX_BODY,
        whole: size,
        sure: Sure::Glued,
        body_only: false,
        rule: rule(name, EXACT),
    }
}

const fn address(prefix: &'static str, min: usize, name: &'static str) -> Token {
    Token { body_only: true, ..token(prefix, Body::Base64, min, Sure::Yes, name) }
}

use Body::{Alnum, Base64, Dotted, Hex, Upper, Word};
use Sure::{Random, Yes};

/// Every token prefix.
pub(crate) static TOKENS: &[Token] = &[
    // GitHub: 30 random and 6 checksum characters after the prefix.
    whole("ghp_", 10, 36, "github-pat"),
    whole("gho_", 10, 36, "github-token"),
    whole("ghu_", 10, 36, "github-token"),
    whole("ghs_", 10, 36, "github-token"),
    whole("ghr_", 10, 36, "github-token"),
    Token { whole: 82, ..token("github_pat_", Word, 10, Yes, "github-pat") },
    // GitLab, with its routable (dotted) successors.
    token("glpat-", Dotted, 10, Yes, "gitlab-token"),
    token("gloas-", Dotted, 10, Yes, "gitlab-token"),
    token("gldt-", Dotted, 10, Yes, "gitlab-token"),
    token("glrt-", Dotted, 10, Yes, "gitlab-token"),
    token("glrtr-", Dotted, 10, Yes, "gitlab-token"),
    token("glcbt-", Dotted, 10, Yes, "gitlab-token"),
    token("glptt-", Dotted, 10, Yes, "gitlab-token"),
    token("glft-", Dotted, 10, Yes, "gitlab-token"),
    token("glimt-", Dotted, 10, Yes, "gitlab-token"),
    token("glagent-", Dotted, 10, Yes, "gitlab-token"),
    token("glsoat-", Dotted, 10, Yes, "gitlab-token"),
    token("glffct-", Dotted, 10, Yes, "gitlab-token"),
    token("glwt-", Dotted, 10, Yes, "gitlab-token"),
    token("GR1348941", Word, 10, Yes, "gitlab-token"),
    // Slack.
    token("xoxb-", Word, 10, Yes, "slack-token"),
    token("xoxa-", Word, 10, Yes, "slack-token"),
    token("xoxp-", Word, 10, Yes, "slack-token"),
    token("xoxr-", Word, 10, Yes, "slack-token"),
    token("xoxs-", Word, 10, Yes, "slack-token"),
    token("xoxe-", Word, 10, Yes, "slack-token"),
    token("xoxe.xox", Word, 10, Yes, "slack-token"),
    token("xoxc-", Word, 10, Yes, "slack-token"),
    token("xoxd-", Base64, 10, Yes, "slack-token"),
    token("xapp-", Word, 10, Yes, "slack-token"),
    address("hooks.slack.com/services/", 20, "slack-webhook"),
    address("/api/webhooks/", 40, "discord-webhook"),
    // Model services.
    token("sk-ant-", Word, 10, Yes, "anthropic-key"),
    token("sk-proj-", Word, 10, Yes, "openai-key"),
    token("sk-svcacct-", Word, 10, Yes, "openai-key"),
    token("sk-admin-", Word, 10, Yes, "openai-key"),
    token("sk-or-", Word, 10, Random, "openrouter-key"),
    token("sk-lf-", Word, 8, Random, "langfuse-key"),
    token("pk-lf-", Word, 8, Random, "langfuse-key"),
    Token { rule: rule("openai-key", EXACT - 1), ..token("sk-", Dotted, 10, Random, "openai-key") },
    token("sk_", Alnum, 10, Random, "elevenlabs-key"),
    token("gsk_", Alnum, 10, Random, "groq-key"),
    token("xai-", Word, 30, Random, "xai-key"),
    token("pplx-", Alnum, 10, Random, "perplexity-key"),
    token("hf_", Alnum, 10, Random, "huggingface-token"),
    token("api_org_", Alnum, 20, Random, "huggingface-token"),
    token("r8_", Alnum, 10, Random, "replicate-token"),
    token("nvapi-", Word, 20, Yes, "nvidia-key"),
    token("fal_", Word, 10, Random, "fal-key"),
    token("fc-", Alnum, 10, Random, "firecrawl-key"),
    token("tvly-", Word, 10, Random, "tavily-key"),
    token("exa_", Word, 10, Random, "exa-key"),
    token("mem0_", Word, 10, Random, "mem0-key"),
    token("retaindb_", Word, 10, Random, "retaindb-key"),
    token("hsk-", Word, 10, Random, "hsk-key"),
    token("brv_", Word, 10, Random, "brv-key"),
    token("bb_live_", Word, 10, Yes, "browserbase-key"),
    token("fw-", Alnum, 30, Random, "fireworks-key"),
    token("fw_", Alnum, 20, Random, "fireworks-key"),
    token("fpk_", Alnum, 30, Random, "fireworks-key"),
    token("gAAAA", Base64, 20, Random, "fernet-token"),
    token("am_org_", Alnum, 20, Random, "agentmail-key"),
    token("am_", Alnum, 20, Random, "agentmail-key"),
    // Clouds.
    fixed("AKIA", Upper, 16, "aws-access-key"),
    fixed("ASIA", Upper, 16, "aws-access-key"),
    fixed("ABIA", Upper, 16, "aws-access-key"),
    fixed("ACCA", Upper, 16, "aws-access-key"),
    token("ABSK", Base64, 80, Random, "aws-bedrock-key"),
    token("AIza", Word, 30, Yes, "google-key"),
    token("ya29.", Dotted, 20, Yes, "google-token"),
    token("GOCSPX-", Word, 20, Yes, "google-secret"),
    token("dop_v1_", Alnum, 10, Yes, "digitalocean-token"),
    token("doo_v1_", Alnum, 10, Yes, "digitalocean-token"),
    token("dor_v1_", Alnum, 10, Yes, "digitalocean-token"),
    token("LTAI", Alnum, 16, Random, "alibaba-key"),
    token("hvs.", Word, 20, Yes, "vault-token"),
    token("hvb.", Word, 20, Yes, "vault-token"),
    token("hvr.", Word, 20, Yes, "vault-token"),
    token(".atlasv1.", Word, 40, Yes, "terraform-token"),
    token("dapi", Hex, 32, Random, "databricks-token"),
    token("pul-", Hex, 40, Yes, "pulumi-token"),
    token("tskey-", Word, 16, Yes, "tailscale-key"),
    token("fm1_", Base64, 20, Random, "fly-token"),
    token("fm2_", Base64, 20, Random, "fly-token"),
    token("sbp_", Alnum, 30, Random, "supabase-token"),
    token("sb_secret_", Word, 16, Yes, "supabase-token"),
    token("dp.pt.", Alnum, 30, Yes, "doppler-token"),
    token("dp.st.", Dotted, 30, Yes, "doppler-token"),
    token("ops_eyJ", Base64, 40, Yes, "onepassword-token"),
    token("AGE-SECRET-KEY-1", Upper, 40, Yes, "age-key"),
    // Money and shops.
    token("sk_live_", Alnum, 10, Yes, "stripe-key"),
    token("sk_test_", Alnum, 10, Yes, "stripe-key"),
    token("rk_live_", Alnum, 10, Yes, "stripe-key"),
    token("rk_test_", Alnum, 10, Yes, "stripe-key"),
    token("whsec_", Base64, 20, Yes, "stripe-key"),
    token("sq0atp-", Word, 20, Yes, "square-token"),
    token("sq0csp-", Word, 20, Yes, "square-token"),
    token("shpat_", Alnum, 20, Yes, "shopify-token"),
    token("shpca_", Alnum, 20, Yes, "shopify-token"),
    token("shppa_", Alnum, 20, Yes, "shopify-token"),
    token("shpss_", Alnum, 20, Yes, "shopify-token"),
    // Packages, mail, tools.
    whole("npm_", 10, 36, "npm-token"),
    token("pypi-", Word, 10, Random, "pypi-token"),
    token("rubygems_", Hex, 40, Yes, "rubygems-key"),
    fixed("oy2", Alnum, 43, "nuget-key"),
    token("dckr_pat_", Word, 16, Yes, "docker-token"),
    token("dckr_oat_", Word, 16, Yes, "docker-token"),
    token("AKCp", Alnum, 40, Random, "artifactory-key"),
    token("cmVmdGtu", Alnum, 40, Random, "artifactory-key"),
    Token { body: Dotted, ..token("SG.", Dotted, 20, Random, "sendgrid-key") },
    token("xkeysib-", Word, 20, Yes, "brevo-key"),
    fixed("key-", Hex, 32, "mailgun-key"),
    token("ntn_", Alnum, 20, Random, "notion-token"),
    token("secret_", Alnum, 40, Random, "notion-token"),
    token("lin_api_", Alnum, 20, Yes, "linear-key"),
    token("figd_", Word, 20, Yes, "figma-token"),
    token("PMAK-", Word, 20, Yes, "postman-key"),
    token("NRAK-", Upper, 20, Yes, "newrelic-key"),
    token("glsa_", Word, 20, Yes, "grafana-token"),
    token("glc_", Base64, 20, Random, "grafana-token"),
    token("sntrys_", Base64, 20, Yes, "sentry-token"),
    token("sntryu_", Alnum, 20, Yes, "sentry-token"),
    token("ATATT3", Base64, 40, Yes, "atlassian-token"),
    token("ATCTT3", Base64, 40, Yes, "atlassian-token"),
    token("ATBB", Alnum, 24, Random, "atlassian-token"),
    token("CFPAT-", Word, 20, Yes, "contentful-token"),
    token("syt_", Word, 10, Random, "matrix-token"),
];

/// Rules that are not in [`TOKENS`].
#[rustfmt::skip]
pub(crate) static OTHERS: &[Rule] = &[
    PRIVATE_KEY, JWT, TELEGRAM, ZHIPU, AWS_SECRET, URL_PASSWORD, URL_TOKEN, URL_PARAM, AUTH_HEADER, COOKIE, K8S,
    TERRAFORM, NETRC, FLAG, PASSWORD, ASSIGNMENT, ENCODED, PHONE,
];

/// Whether a rule has this name.
pub(crate) fn exists(name: &str) -> bool {
    TOKENS.iter().map(|token| token.rule).chain(OTHERS.iter().copied()).any(|rule| rule.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lower_case_words_joined_by_hyphens() {
        for token in TOKENS {
            let name = token.rule.name;
            assert!(name.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-'), "{name}");
            assert!(token.min <= token.max && token.prefix.len() >= 2, "{}", token.prefix);
        }
    }
}
