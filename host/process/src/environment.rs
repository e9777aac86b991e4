//! The environment a child gets: what is inherited, what is added, what is taken out.
//!
//! It must never look at the value of a `HERMES_` variable: such a name is either passed on as it is or dropped.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use crate::spec::shown;

/// The variable that carries the host's marker into every child, so that an escaped child can be found by it.
pub const HOST_MARKER: &str = hermes_supervisor::message::HOST_MARKER;

/// The variable that carries the process id into every child.
pub const PROCESS_MARKER: &str = "HERMES_PROCESS";

/// Names with this prefix belong to hermes.
const OWN_PREFIX: &[u8] = b"HERMES_";

/// The own variables a child keeps, so that a `hermes` started by a command works on the same home, profile and log level.
pub(crate) const PASSED_ON: [&str; 3] = ["HERMES_HOME", "HERMES_PROFILE", "HERMES_LOG"];

/// Set for a child that has no such variable: Python writes at once into a pipe, so that a killed script loses nothing.
const DEFAULTS: [(&str, &str); 1] = [("PYTHONUNBUFFERED", "1")];

/// Never for an agent's command, and no rule lets them through: with one of these a command could speak as the host or
/// open the store that holds everything else. Tokens of chat bots, keys of a GitHub App, sessions and first tokens of
/// secret managers, accounts that rent machines, the password of `sudo`. A `*` at the end stands for anything.
const NEVER: [&str; 36] = [
    "BWS_ACCESS_TOKEN",
    "BW_CLIENTID",
    "BW_CLIENTSECRET",
    "BW_PASSWORD",
    "BW_SESSION",
    "DAYTONA_API_KEY",
    "DISCORD_BOT_TOKEN",
    "DISCORD_TOKEN",
    "FEISHU_APP_SECRET",
    "GITHUB_APP_CLIENT_SECRET",
    "GITHUB_APP_PRIVATE_KEY*",
    "GITHUB_APP_WEBHOOK_SECRET",
    "GITHUB_WEBHOOK_SECRET",
    "LARK_APP_SECRET",
    "LINE_CHANNEL_ACCESS_TOKEN",
    "LINE_CHANNEL_SECRET",
    "MATRIX_ACCESS_TOKEN",
    "MATRIX_PASSWORD",
    "MATTERMOST_TOKEN",
    "MODAL_TOKEN_ID",
    "MODAL_TOKEN_SECRET",
    "OP_CONNECT_TOKEN",
    "OP_SERVICE_ACCOUNT_TOKEN",
    "OP_SESSION_*",
    "SIGNAL_ACCOUNT",
    "SLACK_APP_TOKEN",
    "SLACK_BOT_TOKEN",
    "SLACK_CLIENT_SECRET",
    "SLACK_SIGNING_SECRET",
    "SLACK_USER_TOKEN",
    "SUDO_PASSWORD",
    "TELEGRAM_BOT_TOKEN",
    "TWILIO_API_SECRET",
    "TWILIO_AUTH_TOKEN",
    "WECOM_SECRET",
    "WHATSAPP_*",
];

/// Not for an agent's command unless a rule lets them through: what the agent itself pays and speaks with. Providers of
/// models (keys, and the addresses that may hold one), of search, speech and browsers, mail, the home, deployments, and
/// personal tokens for GitHub. The chain of `AWS_` variables is the user's tool and stays, but for the token that opens
/// only models.
const AGENTS_OWN: [&str; 74] = [
    "AI21_API_KEY",
    "AI_GATEWAY_API_KEY",
    "ANTHROPIC_*",
    "ANYSCALE_*",
    "ASSEMBLYAI_API_KEY",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AZURE_API_KEY",
    "AZURE_INFERENCE_*",
    "AZURE_OPENAI_*",
    "BRAVE_API_KEY",
    "BRAVE_SEARCH_API_KEY",
    "BROWSERBASE_*",
    "CEREBRAS_*",
    "COHERE_*",
    "CO_API_KEY",
    "DASHSCOPE_*",
    "DEEPGRAM_API_KEY",
    "DEEPINFRA_*",
    "DEEPSEEK_*",
    "DOPPLER_TOKEN",
    "ELEVENLABS_*",
    "EMAIL_PASSWORD",
    "EXA_API_KEY",
    "FAL_KEY",
    "FIRECRAWL_*",
    "FIREWORKS_*",
    "GEMINI_*",
    "GH_ENTERPRISE_TOKEN",
    "GH_TOKEN",
    "GITHUB_ENTERPRISE_TOKEN",
    "GITHUB_TOKEN",
    "GLM_*",
    "GOOGLE_API_KEY",
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "GROQ_*",
    "HASS_TOKEN",
    "HF_TOKEN",
    "HUGGINGFACE_API_KEY",
    "HUGGING_FACE_HUB_TOKEN",
    "HYPERBOLIC_*",
    "IMAP_PASSWORD",
    "INFISICAL_TOKEN",
    "JINA_API_KEY",
    "KIMI_*",
    "LITELLM_*",
    "MINIMAX_*",
    "MISTRAL_*",
    "MOONSHOT_*",
    "NEBIUS_*",
    "NOUS_*",
    "NOVITA_*",
    "NVIDIA_API_KEY",
    "OPENAI_*",
    "OPENROUTER_*",
    "PERPLEXITY_*",
    "PPLX_API_KEY",
    "QWEN_*",
    "REPLICATE_API_TOKEN",
    "SAMBANOVA_*",
    "SERPAPI_API_KEY",
    "SERPER_API_KEY",
    "SILICONFLOW_*",
    "SMTP_PASSWORD",
    "TAVILY_*",
    "TOGETHERAI_*",
    "TOGETHER_*",
    "VENICE_*",
    "VERCEL_TOKEN",
    "VOLCENGINE_*",
    "VOYAGE_*",
    "XAI_*",
    "XIAOMI_API_KEY",
    "ZAI_*",
    "ZHIPUAI_*",
];

/// The virtual environment that the host runs in is not the one of the project a command works on.
const VIRTUAL_ENVIRONMENTS: [&str; 3] = ["CONDA_PREFIX", "PYTHONHOME", "VIRTUAL_ENV"];

/// Set for an agent's command where the user set nothing: who would ask a question gets no terminal and fails at once,
/// with a message, instead of waiting for an answer until its time runs out. git on the terminal, git's credential
/// manager in a window, ssh in a window (it has no terminal here), and the packages of Debian.
const NO_QUESTIONS: [(&str, &str); 4] = [
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("GCM_INTERACTIVE", "never"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("SSH_ASKPASS_REQUIRE", "never"),
];

/// What the user says about the variables of agents' commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EnvRules {
    block: Vec<String>,
    pass: Vec<String>,
}

/// Why a text is no pattern of variable names.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{pattern}' is no pattern of variable names; write a name (letters, digits and '_'), or the beginning of one and '*'"
)]
pub struct BadPattern {
    /// The text, without control characters and not without end.
    pub pattern: String,
}

impl EnvRules {
    /// Rules from patterns: names, or beginnings of names followed by `*` (`env_block` and `env_pass` in the configuration).
    ///
    /// What `block` names goes beside what always goes; what `pass` names stays, even where `block` names it too.
    ///
    /// # Errors
    /// [`BadPattern`] for the first that is none.
    pub fn new(block: Vec<String>, pass: Vec<String>) -> Result<Self, BadPattern> {
        let known = |pattern: &&String| {
            let stem = pattern.strip_suffix('*').unwrap_or(pattern);
            !stem.is_empty() && stem.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        match block.iter().chain(&pass).find(|pattern| !known(pattern)) {
            Some(pattern) => Err(BadPattern { pattern: shown(OsStr::new(pattern)) }),
            None => Ok(Self { block, pass }),
        }
    }

    fn drops(&self, name: &OsStr) -> bool {
        let named_in = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
        let standard = || AGENTS_OWN.iter().chain(&VIRTUAL_ENVIRONMENTS).any(|pattern| matches(pattern, name));
        NEVER.iter().any(|pattern| matches(pattern, name))
            || ((named_in(&self.block) || standard()) && !named_in(&self.pass))
    }
}

/// Whether a name is the one of a pattern, or begins as a pattern with `*` at its end says.
pub(crate) fn matches(pattern: &str, name: &OsStr) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.as_bytes().starts_with(beginning.as_bytes()),
        None => name == pattern,
    }
}

/// What a child's environment is made of.
///
/// It shows nothing of itself: values are secrets as often as not.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<OsString, OsString>,
}

impl Environment {
    /// Starts with this process's own environment, without the variables that are hermes' own business.
    ///
    /// Kept of the `HERMES_` names are the home, the profile and the log level. Markers of an outer host are dropped:
    /// the child gets those of the host that starts it.
    pub fn inherit() -> Self {
        Self::from_pairs(std::env::vars_os())
    }

    /// Starts with nothing, not even `PATH`.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Starts with the given variables, filtered as [`Environment::inherit`] does.
    pub fn from_pairs(pairs: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut variables: BTreeMap<_, _> = pairs.into_iter().filter(|(name, _)| passes(name)).collect();
        for (name, value) in DEFAULTS {
            variables.entry(name.into()).or_insert_with(|| value.into());
        }
        Self { variables }
    }

    /// Adds or replaces a variable.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> &mut Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// Takes a variable out.
    pub fn unset(&mut self, name: impl AsRef<OsStr>) -> &mut Self {
        self.variables.remove(name.as_ref());
        self
    }

    /// Makes it one for an agent's command: takes out what belongs to the agent and its host and not to the command, and
    /// keeps programs from asking questions that nobody could answer.
    ///
    /// Taken out are credentials of the host and its agent, the host's virtual environment, and what `rules` block. Some
    /// credentials go whatever the rules pass: tokens of chat bots and of secret managers. No value that is set is
    /// replaced. Call it after everything that was inherited and before what the caller sets on purpose. A person's own
    /// command needs none of this.
    pub fn filter(&mut self, rules: &EnvRules) -> &mut Self {
        self.variables.retain(|name, _| !rules.drops(name));
        for (name, value) in NO_QUESTIONS {
            self.variables.entry(name.into()).or_insert_with(|| value.into());
        }
        self
    }

    /// The value of a variable as the child will see it.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// All variables as the child will see them, markers apart, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The first name that no environment can hold: empty, or with `=` or a zero byte in it or in its value.
    pub(crate) fn impossible_name(&self) -> Option<&OsStr> {
        let impossible = |name: &OsStr, value: &OsStr| {
            let name = name.as_bytes();
            name.is_empty() || name.contains(&b'=') || name.contains(&0) || value.as_bytes().contains(&0)
        };
        self.iter().find(|(name, value)| impossible(name, value)).map(|(name, _)| name)
    }
}

/// Whether a variable belongs to hermes.
pub(crate) fn is_own(name: &OsStr) -> bool {
    name.as_bytes().starts_with(OWN_PREFIX)
}

fn passes(name: &OsStr) -> bool {
    !is_own(name) || PASSED_ON.iter().any(|kept| name == *kept)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::time::Duration;

    use hermes_model::status::Status;
    use proptest::prelude::*;

    use super::*;
    use crate::host::Host;
    use crate::spawn::spawn;
    use crate::spec::{CommandSpec, Program};

    fn from(names: &[&str]) -> Environment {
        Environment::from_pairs(names.iter().map(|name| (OsString::from(name), OsString::from("v"))))
    }

    #[test]
    fn own_variables_are_dropped_but_home_profile_and_log_level() {
        let environment =
            from(&["PATH", "HERMES_HOME", "HERMES_PROFILE", "HERMES_LOG", "HERMES_HOST", "HERMES_PROCESS", "HERMES_X"]);
        let names: Vec<_> = environment.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(names, ["HERMES_HOME", "HERMES_LOG", "HERMES_PROFILE", "PATH", "PYTHONUNBUFFERED"]);
    }

    #[test]
    fn a_default_never_replaces_what_the_user_set() {
        let environment = Environment::from_pairs([("PYTHONUNBUFFERED".into(), "".into())]);
        assert_eq!(environment.get("PYTHONUNBUFFERED"), Some(OsStr::new("")));
    }

    fn rules(block: &[&str], pass: &[&str]) -> EnvRules {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        EnvRules::new(owned(block), owned(pass)).unwrap()
    }

    /// Those of the names that an agent's command gets.
    fn kept<'a>(names: &[&'a str], rules: &EnvRules) -> Vec<&'a str> {
        let mut environment = from(names);
        environment.filter(rules);
        names.iter().filter(|name| environment.get(name).is_some()).copied().collect()
    }

    #[test]
    fn credentials_of_the_agent_and_its_host_are_no_business_of_a_command() {
        let names = [
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
            "GOOGLE_API_KEY",
            "OPENROUTER_API_KEY",
            "MISTRAL_API_KEY",
            "GROQ_API_KEY",
            "XAI_API_KEY",
            "DEEPSEEK_BASE_URL",
            "AWS_BEARER_TOKEN_BEDROCK",
            "GH_TOKEN",
            "TELEGRAM_BOT_TOKEN",
            "GITHUB_APP_PRIVATE_KEY_PATH",
            "OP_SESSION_my",
            "BWS_ACCESS_TOKEN",
            "VIRTUAL_ENV",
            "CONDA_PREFIX",
            "PYTHONHOME",
        ];
        assert_eq!(kept(&names, &EnvRules::default()), Vec::<&str>::new());
    }

    #[test]
    fn what_a_command_works_with_stays() {
        let names = [
            "PATH",
            "HOME",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_PROFILE",
            "SSH_AUTH_SOCK",
            "HTTPS_PROXY",
            "NVIDIA_VISIBLE_DEVICES",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "OPENAIX",
            "MY_OPENAI_API_KEY",
            "DATABASE_URL",
        ];
        assert_eq!(kept(&names, &EnvRules::default()), names);
    }

    #[test]
    fn rules_block_more_and_pass_some_but_never_the_first_tier() {
        let names =
            ["CI_A", "CI_B", "CIX", "OPENAI_API_KEY", "OPENAI_BASE_URL", "VIRTUAL_ENV", "OP_SESSION_a", "BW_SESSION"];
        let rules = rules(&["CI_*", "CIX"], &["CI_B", "OPENAI_API_KEY", "VIRTUAL_ENV", "OP_*", "BW_SESSION"]);
        assert_eq!(kept(&names, &rules), ["CI_B", "OPENAI_API_KEY", "VIRTUAL_ENV"]);
    }

    #[test]
    fn a_pattern_that_could_mean_anything_is_refused() {
        for pattern in ["", "*", "A*B", "A**", "A B", "A=B", "Ä"] {
            assert!(EnvRules::new(vec![pattern.to_owned()], Vec::new()).is_err(), "{pattern}");
            let error = EnvRules::new(Vec::new(), vec![pattern.to_owned()]).unwrap_err();
            assert!(error.to_string().contains(&format!("'{pattern}'")));
        }
    }

    #[test]
    fn questions_are_turned_off_unless_the_user_decided() {
        let mut environment = Environment::empty();
        environment.set("GIT_TERMINAL_PROMPT", "1").filter(&EnvRules::default());
        assert_eq!(environment.get("GIT_TERMINAL_PROMPT"), Some(OsStr::new("1")));
        assert_eq!(environment.get("SSH_ASKPASS_REQUIRE"), Some(OsStr::new("never")));
        assert_eq!(environment.get("DEBIAN_FRONTEND"), Some(OsStr::new("noninteractive")));
        assert!(Environment::inherit().get("GCM_INTERACTIVE").is_none(), "a person's own command is not changed");
    }

    /// Answers one request with a demand for a password.
    fn demanding_server() -> u16 {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                request.extend(byte);
            }
            let answer =
                "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n";
            stream.write_all(answer.as_bytes()).unwrap();
        });
        port
    }

    #[tokio::test]
    async fn git_does_not_ask_for_a_password_but_fails() {
        let home = tempfile::tempdir().unwrap();
        let mut environment = Environment::empty();
        environment.set("PATH", std::env::var_os("PATH").unwrap()).set("HOME", home.path());
        environment.filter(&EnvRules::default());
        let url = format!("http://127.0.0.1:{}/x.git", demanding_server());
        let program = Program::Exec { program: "git".into(), args: vec!["ls-remote".into(), url.into()] };
        let host = Host::start().unwrap();
        let process = spawn(&host, CommandSpec { environment, ..CommandSpec::new(program) }).await.unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(30), process.wait()).await.unwrap();
        assert_eq!(ended.status, Status::Exited(128));
        let output = ended.output().parts().head.into_owned();
        assert!(output.windows(7).any(|text| text == b"prompts"), "git says that it may not ask");
    }

    #[test]
    fn the_lists_are_sorted_patterns_without_repetition() {
        for list in [&NEVER[..], &AGENTS_OWN, &VIRTUAL_ENVIRONMENTS] {
            rules(list, &[]);
            assert!(list.is_sorted_by(|a, b| a < b), "{list:?}");
        }
        let covered = |name: &str| NEVER.iter().any(|never| matches(never, OsStr::new(name)));
        assert_eq!(AGENTS_OWN.iter().find(|name| covered(name)), None);
    }

    proptest! {
        #[test]
        fn filtering_only_takes_away_and_answers_questions(names in prop::collection::vec("[A-Z_]{1,8}", 0..8), block in "[A-Z_]{1,3}[*]?") {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let rules = rules(&[&block], &[]);
            let mut environment = from(&names);
            environment.filter(&rules);
            for (name, value) in environment.iter() {
                let answer = NO_QUESTIONS.iter().any(|(known, answer)| name == *known && value == *answer);
                prop_assert!(answer || name == "PYTHONUNBUFFERED" || (names.iter().any(|kept| name == *kept) && !matches(&block, name)));
            }
        }
    }

    #[test]
    fn what_no_environment_can_hold_is_named() {
        for name in ["", "A=B", "A\0"] {
            assert!(from(&["GOOD", name]).impossible_name().is_some(), "{name:?}");
        }
        let mut environment = from(&["GOOD"]);
        assert!(environment.impossible_name().is_none());
        environment.set("VALUE", "with\0zero");
        assert_eq!(environment.impossible_name(), Some(OsStr::new("VALUE")));
    }
}
