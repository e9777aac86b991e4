//! What is hidden and what must stay, as templates: tokens told by their form, values told by their name, whole texts
//! told by their structure, and everything that only looks like one of them.
//!
//! The examples of the redactor's own table are read from its folder. The others are written here, so that a rule that
//! is wrong together with its example is still found.

use std::path::Path;

use crate::generator::Generator;

/// A value to be put into every syntax.
#[derive(Clone, Debug)]
pub struct Seed {
    /// What it is, such as `token/github`: the word of the reports.
    pub kind: String,
    /// The template of the value.
    pub template: String,
    /// The words of the name it stands behind.
    pub name: String,
    /// What makes it a secret.
    pub told: Told,
    /// Text within the value up to which it is public, such as the address of a server; mostly nothing.
    pub public_to: String,
}

/// What tells a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The value itself: it is masked wherever it stands.
    ByForm,
    /// The name before it, or a place where only secrets stand.
    ByName,
    /// Nothing: it must stay.
    Stays,
    /// Nothing, even behind the name of a secret: a stand-in or a look-up.
    StandsIn,
}

/// A whole text. What is between `⟦` and `⟧` is secret; what is between `⟪` and `⟫` must stay.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// What it is, such as `pem/whole`.
    pub kind: &'static str,
    /// The template.
    pub text: &'static str,
}

/// Why there are no seeds.
#[derive(Debug, thiserror::Error)]
pub enum SeedsError {
    /// A file of the table cannot be read.
    #[error("cannot read {path}: {source}; run this from a whole checkout")]
    File {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A file of the table is no TOML.
    #[error("{path} is not a rule file: {source}")]
    Toml {
        /// The file.
        path: String,
        /// Why.
        source: toml::de::Error,
    },
}

/// Tokens told by their form, as their makers publish it: kind and template.
const TOKENS: &[(&str, &str)] = &[
    ("github", "ghp_{alnum:30}{crc}"),
    ("github", "gho_{alnum:30}{crc}"),
    ("github", "ghs_{alnum:30}{crc}"),
    ("github", "github_pat_{alnum:22}_{alnum:59}"),
    ("gitlab", "glpat-{alnum:20}"),
    ("gitlab", "glrt-{alnum:20}"),
    ("gitlab", "glptt-{hex:40}"),
    ("slack", "xoxb-{digit:12}-{digit:12}-{alnum:24}"),
    ("slack", "xoxp-{digit:12}-{digit:12}-{digit:12}-{hex:32}"),
    ("slack", "xapp-1-A{upper:10}-{digit:13}-{hex:64}"),
    ("npm", "npm_{alnum:30}{crc}"),
    ("pypi", "pypi-AgEIcHlwaS5vcmc{alnum:70}"),
    ("stripe", "sk_live_{alnum:24}"),
    ("stripe", "rk_live_{alnum:24}"),
    ("stripe", "whsec_{alnum:32}"),
    ("anthropic", "sk-ant-api03-{alnum:93}AA"),
    ("openai", "sk-proj-{alnum:74}T3BlbkFJ{alnum:74}"),
    ("openai", "sk-{alnum:20}T3BlbkFJ{alnum:20}"),
    ("google", "AIzaSy{alnum:33}"),
    ("google", "GOCSPX-{alnum:28}"),
    ("google", "ya29.a0{alnum:60}"),
    ("aws", "AKIA{base32:16}"),
    ("aws", "ASIA{base32:16}"),
    ("huggingface", "hf_{letter:34}"),
    ("sendgrid", "SG.{alnum:22}.{alnum:43}"),
    ("twilio", "SK{hex:32}"),
    ("digitalocean", "dop_v1_{hex:64}"),
    ("vault", "hvs.{alnum:92}"),
    ("terraform", "{alnum:14}.atlasv1.{alnum:64}"),
    ("databricks", "dapi{hex:32}"),
    ("shopify", "shpat_{hex:32}"),
    ("square", "sq0csp-{alnum:43}"),
    ("linear", "lin_api_{alnum:40}"),
    ("notion", "ntn_{digit:11}{alnum:35}"),
    ("figma", "figd_{alnum:40}"),
    ("postman", "PMAK-{hex:24}-{hex:34}"),
    ("newrelic", "NRAK-{upper:27}"),
    ("grafana", "glsa_{alnum:32}_{hex:8}"),
    ("dockerhub", "dckr_pat_{alnum:27}"),
    ("telegram", "{digit:10}:AA{alnum:33}"),
    ("groq", "gsk_{alnum:52}"),
    ("xai", "xai-{alnum:80}"),
    ("age", "AGE-SECRET-KEY-1{upper:58}"),
    ("mailgun", "key-{hex:32}"),
    ("doppler", "dp.pt.{alnum:43}"),
    ("pulumi", "pul-{hex:40}"),
    ("flyio", "FlyV1 fm2_{base64:100}"),
    ("jwt", "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.{json64}.{alnum:43}"),
    ("jwt", "eyJhbGciOiJSUzI1NiJ9.{json64}.{alnum:342}"),
];

/// Values told by their name: kind, template, names.
const NAMED: &[(&str, &str, &[&str])] = &[
    ("password", "{alnum:12}", &["password", "db password", "pgpassword", "smtp password", "admin passwd"]),
    ("password", "{lower:6}-{lower:5}-{digit:2}", &["password", "redis password", "user password", "passphrase"]),
    ("password", "Tr0ub{alnum:4}&{digit:3}", &["db password", "root password", "password"]),
    ("password", "P@s{alnum:6}#{digit:2}!", &["mysql password", "password", "keystore password"]),
    ("opaque", "{alnum:32}", &["api key", "access token", "auth token", "client secret", "secret key"]),
    ("opaque", "{hex:40}", &["api secret", "auth token", "session secret", "signing secret"]),
    ("opaque", "{alnum:24}", &["secret", "api token", "refresh token", "private token", "encryption key"]),
    ("opaque", "{base64:40}", &["aws secret access key"]),
    ("opaque", "{base64:43}=", &["storage account key", "shared access key", "secret key base"]),
    ("opaque", "{uuid}", &["api key", "client secret", "access token"]),
];

/// What must stay behind an ordinary name: kind, template, names.
const STAYS: &[(&str, &str, &[&str])] = &[
    ("hash", "{hex:40}", &["commit", "revision", "git sha"]),
    ("hash", "{hex:64}", &["checksum", "sha256", "digest"]),
    ("hash", "sha256:{hex:64}", &["image", "digest"]),
    ("hash", "sha512-{base64:86}==", &["integrity"]),
    ("hash", "h1:{base64:43}=", &["go sum"]),
    ("hash", "{hex:32}", &["md5", "etag", "trace id"]),
    ("uuid", "{uuid}", &["request id", "session name", "job id", "correlation id"]),
    ("count", "{digit:4}", &["max tokens", "prompt tokens", "token count", "password min length", "keys total"]),
    ("version", "1.{digit:2}.{digit:1}", &["version", "secret store version"]),
    ("path", "/srv/{lower:6}/run/keyring/ssh", &["ssh auth sock", "working directory"]),
    ("path", "/etc/ssl/private/{lower:8}.key", &["tls key file", "password file", "token path"]),
    ("host", "db-{digit:2}.internal.example.test", &["host", "auth host", "server name"]),
    ("word", "cl100k_base", &["tokenizer", "encoding"]),
    ("word", "us-east-{digit:1}", &["region"]),
    ("word", "deploy-{lower:6}-production", &["service name", "target", "cluster"]),
    ("flag", "true", &["password required", "token enabled", "use auth"]),
    ("time", "2026-03-0{digit:1}T12:10:11Z", &["token expires at", "created"]),
    ("key-id", "SHA256:{base64:43}", &["key fingerprint"]),
    ("public-key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{base64:43}", &["public key"]),
    ("file", "{lower:8}-{lower:8}.tar.gz", &["artifact", "file"]),
    ("address", "0x{hex:16}", &["address", "pointer"]),
];

/// Stand-ins and look-ups, which must stay behind the name of a secret.
const STAND_INS: &[(&str, &str)] = &[
    ("stand-in", "<YOUR_API_KEY>"),
    ("stand-in", "********"),
    ("stand-in", "xxxxxxxxxxxx"),
    ("stand-in", "your-api-key-here"),
    ("stand-in", "changeme"),
    ("stand-in", "[REDACTED]"),
    ("look-up", "${DB_PASSWORD}"),
    ("look-up", "$API_TOKEN"),
    ("look-up", "{{ secrets.TOKEN }}"),
    ("look-up", "%{TOKEN}"),
    ("nothing", "null"),
    ("nothing", "none"),
];

/// Names of secrets that a stand-in stands behind.
const SECRET_NAMES: &[&str] = &["password", "api key", "access token", "client secret", "db password"];
/// Names that say nothing.
const PLAIN_NAMES: &[&str] = &["label", "note", "service", "item", "result"];

/// Whole texts.
#[rustfmt::skip]
const SITUATIONS: &[Situation] = &[
    Situation { kind: "pem/whole", text: "⟪before⟫\n-----BEGIN RSA PRIVATE KEY-----\n⟦{base64:64}⟧\n⟦{base64:64}⟧\n⟦{base64:64}⟧\n⟦{base64:40}==⟧\n-----END RSA PRIVATE KEY-----\n⟪after the key⟫\n" },
    Situation { kind: "pem/openssh", text: "$ cat id\n-----BEGIN OPENSSH PRIVATE KEY-----\n⟦{base64:70}⟧\n⟦{base64:70}⟧\n⟦{base64:33}⟧\n-----END OPENSSH PRIVATE KEY-----\n⟪$ ls⟫\n" },
    Situation { kind: "pem/no-end", text: "$ head -4 id_rsa\n-----BEGIN PRIVATE KEY-----\n⟦{base64:64}⟧\n⟦{base64:64}⟧\n⟦{base64:64}⟧\n⟪$ echo done⟫\n" },
    Situation { kind: "pem/diff", text: "⟪@@ -0,0 +1,4 @@⟫\n+-----BEGIN EC PRIVATE KEY-----\n+⟦{base64:64}⟧\n+⟦{base64:64}⟧\n+⟦{base64:36}⟧\n+-----END EC PRIVATE KEY-----\n⟪+hosts: all⟫\n" },
    Situation { kind: "pem/numbered", text: "     1\t-----BEGIN PRIVATE KEY-----\n     2\t⟦{base64:64}⟧\n     3\t⟦{base64:64}⟧\n     4\t-----END PRIVATE KEY-----\n     5\t⟪listen 443⟫\n" },
    Situation { kind: "pem/json", text: "{\"type\": \"service_account\", \"private_key\": \"-----BEGIN PRIVATE KEY-----\\n⟦{base64:64}⟧\\n⟦{base64:64}⟧\\n⟦{base64:30}⟧\\n-----END PRIVATE KEY-----\\n\", \"⟪client_email⟫\": \"⟪ci@example.test⟫\"}\n" },
    Situation { kind: "pem/indented", text: "tls:\n  key: |\n    -----BEGIN PRIVATE KEY-----\n    ⟦{base64:64}⟧\n    ⟦{base64:64}⟧\n    -----END PRIVATE KEY-----\n  ⟪port: 8443⟫\n" },
    Situation { kind: "pem/encrypted", text: "-----BEGIN ENCRYPTED PRIVATE KEY-----\n⟦{base64:64}⟧\n⟦{base64:64}⟧\n-----END ENCRYPTED PRIVATE KEY-----\n⟪exit 0⟫\n" },
    Situation { kind: "pem/pgp", text: "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n⟦{base64:64}⟧\n⟦{base64:64}⟧\n=Ab3d\n-----END PGP PRIVATE KEY BLOCK-----\n⟪gpg: done⟫\n" },
    Situation { kind: "pem/putty", text: "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n⟪Comment: box⟫\nPublic-Lines: 1\n⟪AAAAC3NzaC1lZDI1NTE5AAAAI{base64:31}⟫\nPrivate-Lines: 1\n⟦{base64:44}⟧\nPrivate-MAC: {hex:64}\n" },
    Situation { kind: "url/password", text: "⟪origin⟫ https://deploy:⟦{alnum:20}⟧⟪@git.example.test/acme/app.git (push)⟫\n" },
    Situation { kind: "url/token", text: "fatal: unable to access 'https://⟦{alnum:24}⟧⟪@git.example.test/a.git/'⟫\n" },
    Situation { kind: "url/github", text: "remote: ⟪https://x-access-token:⟫⟦ghp_{alnum:30}{crc}⟧⟪@github.com/acme/app.git⟫\n" },
    Situation { kind: "url/postgres", text: "⟪connecting to postgres://app:⟫⟦{alnum:9}!{digit:2}⟧⟪@db.internal:5432/prod⟫\n" },
    Situation { kind: "url/redis", text: "⟪redis://:⟫⟦R3dis-{lower:6}-{digit:2}⟧⟪@cache:6379/0⟫ up\n" },
    Situation { kind: "url/mongo", text: "⟪mongodb+srv://svc:⟫⟦{alnum:16}⟧⟪@cluster0.example.test/db⟫\n" },
    Situation { kind: "url/amqp", text: "broker ⟪amqp://guest:⟫⟦{alnum:14}⟧⟪@mq:5672/vhost⟫\n" },
    Situation { kind: "url/query", text: "⟪GET /v1/items?page=2⟫&access_token=⟦{alnum:32}⟧⟪&sort=asc⟫ 200\n" },
    Situation { kind: "url/sas", text: "⟪https://acct.blob.example.test/c/f?sv=2024-01-01⟫&sig=⟦{alnum:43}%3D⟧\n" },
    Situation { kind: "url/signed", text: "⟪https://b.s3.example.test/k?X-Amz-Date=20260301T000000Z⟫&X-Amz-Signature=⟦{hex:64}⟧\n" },
    Situation { kind: "url/webhook", text: "post https://hooks.slack.com/services/⟦T{upper:8}/B{upper:8}/{alnum:24}⟧ ⟪ok⟫\n" },
    Situation { kind: "url/escaped", text: "Command failed: git clone https\\://oauth2\\:⟦glpat-{alnum:20}⟧⟪\\@gitlab.com/a/b.git⟫\n" },
    Situation { kind: "header/bearer", text: "⟪> GET /v1/me HTTP/2⟫\n> ⟪Authorization: Bearer⟫ ⟦{alnum:38}⟧\n⟪> Accept: */*⟫\n" },
    Situation { kind: "header/basic", text: "> ⟪Authorization: Basic⟫ ⟦{pair64}⟧\n⟪< HTTP/2 401⟫\n" },
    Situation { kind: "header/cookie", text: "> ⟪Cookie: sid=⟫⟦{alnum:20}⟧; ⟪refresh=⟫⟦{alnum:20}⟧\n" },
    Situation { kind: "header/set-cookie", text: "< ⟪Set-Cookie: session=⟫⟦{alnum:26}⟧⟪; Path=/; HttpOnly⟫\n" },
    Situation { kind: "header/api-key", text: "⟪X-Api-Key:⟫ ⟦{alnum:30}⟧\n⟪Content-Type: application/json⟫\n" },
    Situation { kind: "header/json", text: "{\"headers\":{\"authorization\":\"⟪Bearer⟫ ⟦{alnum:30}⟧\",\"⟪accept\":\"json⟫\"}}\n" },
    Situation { kind: "header/list", text: "{\"Authorization\":[\"Bearer ⟦{alnum:28}⟧\",\"Bearer ⟦{alnum:28}⟧\"],⟪\"z\":1}⟫\n" },
    Situation { kind: "header/inline", text: "sent Authorization: Bearer ⟦{alnum:30}⟧⟪ at /app/client.json:4⟫\n" },
    Situation { kind: "kubernetes/yaml", text: "⟪apiVersion: v1⟫\nkind: Secret\nmetadata:\n  ⟪name: db⟫\ndata:\n  password: ⟦{text64}⟧\n  url: ⟦{text64}⟧\n" },
    Situation { kind: "kubernetes/kind-last", text: "apiVersion: v1\ndata:\n  host: ⟦{text64}⟧\nkind: Secret\n⟪type: Opaque⟫\n" },
    Situation { kind: "kubernetes/string-data", text: "kind: Secret\nstringData:\n  config: ⟦{alnum:16}⟧\n⟪type: Opaque⟫\n" },
    Situation { kind: "kubernetes/json", text: "{\"kind\": \"Secret\", \"data\": {\"tls.key\": \"⟦{text64}⟧\"}, ⟪\"type\": \"Opaque\"⟫}\n" },
    Situation { kind: "kubernetes/list", text: "kind: List\nitems:\n- kind: Secret\n  data:\n    a: ⟦{text64}⟧\n- kind: ConfigMap\n  data:\n    ⟪LOG_LEVEL: debug⟫\n" },
    Situation { kind: "terraform/output", text: "{\n  \"admin\": {\n    \"sensitive\": true,\n    ⟪\"type\": \"string\",⟫\n    \"value\": \"⟦{alnum:28}⟧\"\n  }\n}\n" },
    Situation { kind: "terraform/value-first", text: "{\n  \"admin\": {\n    \"value\": \"⟦{alnum:28}⟧\",\n    \"sensitive\": true\n  },\n  ⟪\"region\": 1⟫\n}\n" },
    Situation { kind: "netrc", text: "⟪machine git.example.test⟫\n⟪login ci⟫\npassword ⟦{alnum:18}⟧\n" },
    Situation { kind: "netrc/line", text: "⟪machine api.example.test login ci password⟫ ⟦{alnum:18}⟧\n" },
    Situation { kind: "docker/auth", text: "{\"auths\":{\"⟪reg.example.test⟫\":{\"auth\":\"⟦{pair64}⟧\"}}}\n" },
    Situation { kind: "docker/inspect", text: "⟪\"Env\": [\"PATH=/usr/bin\",⟫ \"DB_PASSWORD=⟦{alnum:16}⟧\", ⟪\"LANG=C\"]⟫\n" },
    Situation { kind: "docker/run", text: "Command failed: ⟪docker run -e DB_PASSWORD=⟫⟦{alnum:14}⟧⟪ img:latest⟫\n" },
    Situation { kind: "command/mysql", text: "⟪$ mysql -h db -u root⟫ -p⟦{alnum:14}⟧ ⟪shop⟫\n" },
    Situation { kind: "command/curl", text: "⟪$ curl -u admin:⟫⟦{alnum:16}⟧ ⟪https://api.example.test/⟫\n" },
    Situation { kind: "command/option", text: "⟪$ deploy --user ci --password⟫ ⟦{alnum:16}⟧ ⟪--region eu⟫\n" },
    Situation { kind: "command/npm", text: "⟪npm config set //reg.example.test/:_authToken⟫ ⟦{alnum:36}⟧\n" },
    Situation { kind: "file/npmrc", text: "⟪//reg.example.test/:_authToken=⟫⟦{alnum:36}⟧\n⟪always-auth=true⟫\n" },
    Situation { kind: "file/aws", text: "⟪[default]⟫\naws_access_key_id = ⟦AKIA{base32:16}⟧\naws_secret_access_key = ⟦{base64:40}⟧\n⟪region = eu-west-1⟫\n" },
    Situation { kind: "file/azure", text: "⟪DefaultEndpointsProtocol=https;AccountName=acme;⟫AccountKey=⟦{base64:86}==⟧⟪;EndpointSuffix=core.example.test⟫\n" },
    Situation { kind: "file/odbc", text: "⟪Server=db;Database=shop;User Id=app;⟫Password=⟦{alnum:12}⟧⟪;Encrypt=true⟫\n" },
    Situation { kind: "file/pgpass", text: "⟪export PGUSER=app⟫ PGPASSWORD=⟦{alnum:13}⟧ ⟪psql -h db⟫\n" },
    Situation { kind: "trace/locals", text: "│ ⟪api_secret = '⟫⟦{alnum:26}⟧' ⟪│⟫\n" },
    Situation { kind: "trace/pytest", text: "⟪E   AssertionError: assert⟫ {'BRAVE_API_KEY': '⟦{alnum:30}⟧'} ⟪== {}⟫\n" },
    Situation { kind: "json/escaped-quote", text: "{\"password\": \"⟦{alnum:6}\\\"{alnum:12}⟧\", ⟪\"n\": 1}⟫\n" },
    Situation { kind: "json/assignment", text: "{⟪\"DATABASE_PASSWORD=⟫⟦{alnum:12}⟧⟪\"}⟫\n" },
    Situation { kind: "stays/certificate", text: "⟪-----BEGIN CERTIFICATE-----⟫\n⟪{base64:64}⟫\n⟪{base64:64}⟫\n-----END CERTIFICATE-----\n" },
    Situation { kind: "stays/public-key", text: "-----BEGIN PUBLIC KEY-----\n⟪{base64:64}⟫\n⟪{base64:64}⟫\n-----END PUBLIC KEY-----\n" },
    Situation { kind: "stays/ssh-key", text: "⟪ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ{base64:180} ci@box⟫\n" },
    Situation { kind: "stays/npm-lock", text: "      \"resolved\": \"⟪https://registry.example.test/a/-/a-1.0.0.tgz⟫\",\n      \"integrity\": \"⟪sha512-{base64:86}==⟫\",\n" },
    Situation { kind: "stays/cargo-lock", text: "⟪name = \"token-bucket\"⟫\nversion = \"0.1.0\"\n⟪checksum = \"{hex:64}\"⟫\n" },
    Situation { kind: "stays/go-sum", text: "⟪google.golang.org/api v0.81.0 h1:{base64:43}=⟫\n⟪google.golang.org/api v0.81.0/go.mod h1:{base64:43}=⟫\n" },
    Situation { kind: "stays/pip-hash", text: "⟪requests==2.31.0 --hash=sha256:{hex:64}⟫\n" },
    Situation { kind: "stays/yarn-lock", text: "  ⟪resolved \"https://registry.example.test/b/-/b-2.0.0.tgz#{hex:40}\"⟫\n  ⟪integrity sha512-{base64:86}==⟫\n" },
    Situation { kind: "stays/commit", text: "⟪commit {hex:40}⟫\nAuthor: A <⟪a@example.test⟫>\n" },
    Situation { kind: "stays/image", text: "⟪<img src=\"data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7\">⟫\n" },
    Situation { kind: "stays/config-map", text: "kind: ConfigMap\ndata:\n  ⟪LOG_LEVEL: debug⟫\n  ⟪replicas: \"3\"⟫\n" },
    Situation { kind: "stays/code", text: "⟪def set_password(self, password: str, token=None):⟫\n    ⟪self.password = hash_password(password)⟫\n" },
    Situation { kind: "stays/code", text: "⟪SECRET_KEY = os.environ.get(\"DJANGO_SECRET_KEY\")⟫\n⟪const token = await getToken(user.id);⟫\n" },
    Situation { kind: "stays/code", text: "⟪let api_key: String = std::env::var(\"API_KEY\")?;⟫\n⟪if token == Token::Semicolon {⟫\n" },
    Situation { kind: "stays/code", text: "⟪password := r.FormValue(\"password\")⟫\n⟪req.Header.Set(\"Authorization\", \"Bearer \"+token)⟫\n" },
    Situation { kind: "stays/prose", text: "⟪The password must have at least 12 characters; a token expires after an hour.⟫\n" },
    Situation { kind: "stays/prose", text: "⟪error: expected one of `;` or `}`, found token `secret`⟫\n⟪note: the secret key rotation finished without errors⟫\n" },
    Situation { kind: "stays/prompt", text: "⟪Enter passphrase for key '/home/ci/.ssh/id_ed25519':⟫\n⟪Password: ⟫\n" },
    Situation { kind: "stays/kubernetes", text: "⟪secretName: app-decryption-secret⟫\n⟪secretKeyRef:⟫\n  ⟪key: password⟫\n" },
    Situation { kind: "stays/table", text: "⟪NAME          TYPE     DATA   AGE⟫\n⟪db-password   Opaque   1      3d⟫\n" },
    Situation { kind: "stays/pods", text: "⟪token-service-6d4cf56db6-x7k2p   1/1   Running⟫\n⟪secrets-store-csi-driver-{lower:5}   3/3   Running⟫\n" },
    Situation { kind: "stays/tests", text: "⟪test auth::tests::rejects_an_expired_token ... ok⟫\n⟪PASS src/password/reset.test.ts (4 s)⟫\n" },
    Situation { kind: "stays/url", text: "⟪https://docs.example.test/tokens/create?lang=en&page=3#secret-scopes⟫\n⟪postgres://db.internal:5432/prod⟫\n" },
];

/// The situations.
pub fn situations() -> &'static [Situation] {
    SITUATIONS
}

/// The seeds written here, and the examples of the rule files in this folder, if there is one.
///
/// # Errors
/// A rule file cannot be read.
pub fn seeds(rules: &Path) -> Result<Vec<Seed>, SeedsError> {
    let mut seeds = Vec::new();
    let mut add = |kind: String, template: &str, name: &str, told| {
        seeds.push(Seed { kind, template: template.to_owned(), name: name.to_owned(), told, public_to: String::new() });
    };
    for (index, (kind, template)) in TOKENS.iter().enumerate() {
        add(format!("token/{kind}"), template, PLAIN_NAMES[index % PLAIN_NAMES.len()], Told::ByForm);
    }
    for (told, group, table) in [(Told::ByName, "named", NAMED), (Told::Stays, "stays", STAYS)] {
        for (kind, template, names) in table {
            names.iter().for_each(|name| add(format!("{group}/{kind}"), template, name, told));
        }
    }
    for (index, (kind, template)) in STAND_INS.iter().enumerate() {
        for name in [0, 1].map(|next| SECRET_NAMES[(index + next) % SECRET_NAMES.len()]) {
            add(format!("stays/{kind}"), template, name, Told::StandsIn);
        }
    }
    seeds.extend(examples(rules)?);
    Ok(seeds)
}

/// The shortest secret behind a sign in the middle of a value, in bytes.
const INNER_MIN: usize = 16;

#[derive(serde::Deserialize)]
struct RuleFile {
    #[serde(default)]
    token: Vec<Rule>,
}

#[derive(serde::Deserialize)]
struct Rule {
    label: String,
    prefix: Vec<String>,
    #[serde(default)]
    example: Vec<String>,
}

/// The examples of tokens in the redactor's own table: each is a value that is masked wherever it stands.
fn examples(folder: &Path) -> Result<Vec<Seed>, SeedsError> {
    let broken = |path: &Path, source| SeedsError::File { path: path.display().to_string(), source };
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| broken(folder, error))? {
        paths.push(entry.map_err(|error| broken(folder, error))?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    paths.sort();
    let mut seeds = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).map_err(|error| broken(&path, error))?;
        let file: RuleFile =
            toml::from_str(&text).map_err(|source| SeedsError::Toml { path: path.display().to_string(), source })?;
        for rule in file.token {
            // An example that needs what stands around it is a text, not a value.
            let values = rule.example.into_iter().filter(|example| !example.contains([' ', '\n', '=', '"', '/', '@']));
            for (index, template) in values.enumerate() {
                let name = PLAIN_NAMES[(seeds.len() + index) % PLAIN_NAMES.len()].to_owned();
                // Where the sign of a token stands before most of it and after something else, that is an id of the
                // account or the like. Other signs stand at the end.
                let inner = rule.prefix.iter().find(|prefix| {
                    let (front, back) = template.split_once(prefix.as_str()).unwrap_or_default();
                    !front.is_empty() && Generator::new(1).expand(back).len() >= INNER_MIN
                });
                let public_to = inner.cloned().unwrap_or_default();
                let kind = format!("rule/{}", rule.label);
                seeds.push(Seed { kind, template, name, told: Told::ByForm, public_to });
            }
        }
    }
    Ok(seeds)
}

impl Seed {
    /// What of this value of the seed is secret.
    pub fn secret<'a>(&self, value: &'a str) -> &'a str {
        let inner = (!self.public_to.is_empty()).then(|| value.split_once(&self.public_to)).flatten();
        inner.map_or(value, |(_, secret)| secret)
    }
}

/// A situation with its values: the text, its secrets, what must stay.
pub fn written(situation: &Situation, generator: &mut Generator) -> (String, Vec<String>, Vec<String>) {
    let marked = generator.expand(situation.text);
    let (mut text, mut secrets, mut keeps, mut piece) = (String::new(), Vec::new(), Vec::new(), String::new());
    let mut inside = false;
    for letter in marked.chars() {
        match letter {
            '⟦' | '⟪' => inside = true,
            '⟧' => secrets.push(std::mem::take(&mut piece)),
            '⟫' => keeps.push(std::mem::take(&mut piece)),
            _ => {
                text.push(letter);
                if inside {
                    piece.push(letter);
                }
            }
        }
        inside &= letter != '⟧' && letter != '⟫';
    }
    (text, secrets, keeps)
}
