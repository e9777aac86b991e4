//! Credentials that look real and open nothing. They are made up at run time, so that no file of this repository holds
//! a text that a scanner would report.

/// The credentials of one demo.
pub(crate) struct Credentials {
    /// Variables of the environment the script is started with.
    pub(crate) in_environment: Vec<(&'static str, String)>,
    /// A variable the script sets itself, so that only its shape gives it away.
    pub(crate) in_script: (&'static str, String),
    /// The address of a repository with a token in it.
    pub(crate) remote: String,
    /// What must never be shown, with what it is.
    pub(crate) secrets: Vec<(&'static str, String)>,
}

const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const DIGITS: &str = "0123456789";
const ALPHANUMERIC: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

impl Credentials {
    /// Makes a set. It is the same each time, so that two runs can be compared.
    pub(crate) fn invent() -> Self {
        let mut letters = Letters(0x9E37_79B9_7F4A_7C15);
        let github = format!("ghp_{}", letters.text(ALPHANUMERIC, 36));
        let remote_token = format!("ghp_{}", letters.text(ALPHANUMERIC, 36));
        let aws_id = format!("AKIA{}", letters.text(UPPER, 16));
        let aws_secret = letters.text(ALPHANUMERIC, 40);
        let password = letters.text(ALPHANUMERIC, 20);
        let slack = format!(
            "xoxb-{}-{}-{}",
            letters.text(DIGITS, 12),
            letters.text(DIGITS, 12),
            letters.text(ALPHANUMERIC, 24)
        );
        Self {
            in_environment: vec![
                ("GITHUB_TOKEN", github.clone()),
                ("AWS_ACCESS_KEY_ID", aws_id),
                ("AWS_SECRET_ACCESS_KEY", aws_secret.clone()),
                ("DATABASE_URL", format!("postgres://app:{password}@db.internal:5432/app")),
            ],
            in_script: ("SLACK_BOT_TOKEN", slack.clone()),
            remote: format!("https://x-access-token:{remote_token}@github.com/acme/app.git"),
            secrets: vec![
                ("the token in GITHUB_TOKEN", github),
                ("the secret in AWS_SECRET_ACCESS_KEY", aws_secret),
                ("the password in DATABASE_URL", password),
                ("the token in SLACK_BOT_TOKEN", slack),
                ("the token in the address of the git remote", remote_token),
            ],
        }
    }

    /// A text with the secrets taken out, for the case that the script itself failed and a person must see why.
    pub(crate) fn masked_for_a_person(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, (_, secret)| text.replace(secret, "(a credential)"))
    }
}

/// A source of letters without a pattern: xorshift64, which needs no crate and no luck.
struct Letters(u64);

impl Letters {
    fn text(&mut self, alphabet: &str, length: usize) -> String {
        let alphabet = alphabet.as_bytes();
        (0..length)
            .map(|_| {
                self.0 ^= self.0 << 13;
                self.0 ^= self.0 >> 7;
                self.0 ^= self.0 << 17;
                // The upper bits are the better ones.
                let index = (self.0 >> 33) as usize % alphabet.len();
                char::from(alphabet[index])
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_secret_is_somewhere_and_no_two_are_the_same() {
        let made = Credentials::invent();
        let places: String = made
            .in_environment
            .iter()
            .chain([&made.in_script, &("remote", made.remote.clone())])
            .map(|(name, value)| format!("{name}={value}\n"))
            .collect();
        for (name, secret) in &made.secrets {
            assert_eq!(places.matches(secret.as_str()).count(), 1, "{name}");
        }
    }

    #[test]
    fn a_masked_text_holds_no_secret() {
        let made = Credentials::invent();
        let text = made.masked_for_a_person(&made.remote);
        assert_eq!(text, "https://x-access-token:(a credential)@github.com/acme/app.git");
    }
}
