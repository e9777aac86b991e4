//! The words by which names, values and commands are judged. A word may be in several sets. One table holds them all:
//! it says of a word which sets it is in.

use std::collections::BTreeMap;
use std::fmt::Write as _;

#[path = "../src/bucket.rs"]
mod bucket;

use bucket::{BUCKETS, bucket};

/// The sets: a name, what it is for, and its words with blanks between them.
const SETS: &[(&str, &str, &str)] = &[
    (
        "PASSWORD",
        "Words that make any name a password's.",
        "pass passwd requirepass masterauth pswd passwords passwds passcode pw pwd passphrases dbpass userpass rootpass sshpass mypass \
         adminpass smtppass mailpass ftppass keypass storepass",
    ),
    (
        "SECRET",
        "Words that make a name strong.",
        "secret credential cred creds auth bearer apikey authtoken accesstoken accesskey secretkey privatekey \
         apitoken authkey refreshtoken idtoken identitytoken signingkey masterkey encryptionkey sessiontoken \
         usertoken bottoken accountkey sharedkey deploykey privkey",
    ),
    (
        "TOKEN",
        "Words that need a value that looks like a secret.",
        "key keys token tokens secrets credentials session sessionid sessid sid jwt csrf xsrf csrftoken cookie \
         phpsessid jsessionid apikeys authenticity psk authorization",
    ),
    (
        "QUALIFIER",
        "Words that make a following `key` or `token` strong.",
        "api auth access refresh session id identity bearer app client master private signing signature \
         encryption encrypt account storage shared subscription deploy deployment personal admin root service \
         security secret oauth oauth2 jwt bot push webhook vault gh github gitlab npm registry user functions \
         host license integration application runner csrf hmac consul http",
    ),
    (
        "TELLS",
        "Last words of names that tell about a secret and do not hold it.",
        "file files filename path paths dir dirs folder url urls uri uris endpoint host hostname port name names \
         type types kind id ids ttl limit limits count counts counter size sizes length len min max policy \
         policies expiry expires expiration exp expire expired timeout enabled enable disabled required require \
         reset hint hints ref refs algo algorithm alg method methods mode version prefix suffix format label \
         store storage provider providers manager validator validation strength index usage used budget rotation \
         age status state error errors field fields column table header headers placeholder prompt link page form \
         input example template pattern regex rule rules check checks helper util utils handler class interface \
         event events test tests spec group groups scope scopes role roles user username email owner source \
         issuer audience realm domain mapping map bits arn location agent sock socket server bucket region at by \
         in on ready valid invalid changed updated created service services flow module middleware config \
         configuration options settings request response client guard function factory controller router route \
         routes schema model dto props ring board chain stream word words cmd command stdin fd env var grant \
         mechanism scheme level plugin callback redirect rs py js ts go json yaml yml md txt toml html css java c \
         h cpp log lock sh tsx jsx pub fingerprint thumbprint per rate cost price total remaining window \
         management supported order const local completed serialization detector release func ext handle property \
         offset result stmt checking account",
    ),
    (
        "TELLS_FIRST",
        "First words of such names.",
        "pull max min num n total count public primary foreign partition sort cache has is use no show hide require \
         requires enable disable allow skip with forgot reset change update validate verify check invalid missing \
         expired prompt completion input output hash idempotency lookup object row map dict hot arrow jobserver \
         ssh-rsa known host s3 sorting group on if must should can",
    ),
    (
        "BEFORE_PASS",
        "Words before a `pass` that is one of several runs over something.",
        "first second third last next current single one two multi each every final tests must should opt \
         optimization render compute high low band by",
    ),
    (
        "BEHIND_PASS",
        "Words behind such a one, or behind the verb.",
        "by with through to on if as fail context fds manager obj arg args loop message thru duration",
    ),
    (
        "STANDIN",
        "Values that stand for a secret or say that there is none.",
        "none null nil true false undefined yes no on off empty hidden redacted masked filtered sensitive \
         changeme change-me change_me placeholder example dummy todo tbd n/a na unset unknown omitted removed \
         scrubbed protected inherit nan",
    ),
    (
        "PROSE",
        "Words that stand after a colon in prose, schemas and types, never as a secret.",
        "string str text bool boolean int integer number float bytes object array list dict map any void char \
         required optional missing invalid incorrect wrong expired failed ok okay set not must is are was default \
         password passwd secret token key auth credentials username prompt enabled disabled basic bearer digest \
         oauth valid verified found never always strong weak to the a an your please enter and or for in of with \
         from it this too cannot can should will success error denied accepted rejected updated created deleted \
         generated loaded loading skipped skip pending file env environment vault manual automatic auto sha256 \
         md5 bcrypt argon2 scrypt unauthorized forbidden read write peer ident options option instead argument \
         files compat arguments parameter flag flags incomplete via arg requires",
    ),
    (
        "DECLARES",
        "Words that begin a declaration in some language.",
        "pub let const static type fn var val final private public protected struct enum union typedef extern \
         unsigned int char void def func function class interface async unsafe impl use import return mut auto \
         readonly override declare local my our if elsif match STRUCT impl_",
    ),
    (
        "TYPE",
        "The type or the state of a field.",
        "string str text password required optional hidden invalid incorrect missing undefined fail FAIL",
    ),
    (
        "ENDING",
        "Endings of the names of files.",
        "o c h a so py rs js ts go exe dll pem key crt json yml yaml txt xml sh toml html",
    ),
    (
        "SCHEME",
        "Words before a credential in `Authorization`.",
        "bearer basic token apikey api-key digest negotiate ntlm hmac key oauth dpop pat bot splunk signature jwt \
         aws4-hmac-sha256 aws sso-key genie-key bearertoken kerberos",
    ),
    ("PARTED", "Those whose credential is one parameter of several.", "digest aws4-hmac-sha256 signature hmac"),
    ("PROOF", "The parameters that are.", "signature response mac nonce cnonce"),
    (
        "ATTRIBUTE",
        "Names of cookies that hold no secret even where the value looks like one.",
        "path domain expires max-age samesite secure httponly priority version partitioned",
    ),
    (
        "BESIDE",
        "Words that may stand in a name beside a service's.",
        "api app application io server client account admin user bot my the prod production dev development \
         staging stage test live sandbox default master main rest web sdk cli ci v1 v2 v3 next vite react tf var \
         read write ro rw full personal service private signing webhook consumer cloud env config public ai org \
         team bundle gems enterprise com project upload license licence ingest integration bearer",
    ),
    (
        "SAYS",
        "Words of such a name that say that it holds a secret.",
        "key token secret auth access pat apikey apitoken authtoken accesskey accesstoken secretkey clientsecret \
         appsecret apisecret credential credentials password pass",
    ),
    (
        "ATTACHED",
        "Commands whose `-p` is followed at once by a password.",
        "mysql mysqldump mysqladmin mariadb mysqlimport mysqlshow mysqlcheck mariadb-dump sshpass 7z 7za 7zr",
    ),
    (
        "SEPARATE",
        "Commands whose `-p` takes a password.",
        "sshpass mongo mongosh mongodump mongorestore mongoexport mongoimport",
    ),
    ("USER", "Commands whose `-u` takes `user:password`.", "curl http https xh"),
    ("AUTH", "Commands whose `-a` takes a password.", "redis-cli"),
    ("BIND", "Commands whose `-w` takes a password.", "ldapsearch ldapmodify ldapadd ldapwhoami ldapdelete"),
    ("SAMBA", "Commands whose `-U` takes `user%password`.", "smbclient rpcclient smbget"),
    ("UPPER", "Commands whose `-P` takes a password.", "zip unzip sqlcmd bcp"),
    (
        "REGISTRY",
        "Clients with a `login` command.",
        "docker podman helm nerdctl crane skopeo oras buildah az cf oc argocd",
    ),
    ("LOGIN", "That command.", "login"),
    (
        "REMOTE",
        "Commands that take a password with `-pw`, `/p:`, or behind a user and a comma.",
        "plink pscp psftp xfreerdp wfreerdp lftp",
    ),
    (
        "PARAMETER",
        "Parameters of a URL that hold a secret and are named by no word for one.",
        "sig signature oauth_signature x-amz-signature x-goog-signature code authcode auth_code authorization_code",
    ),
    (
        "STORES",
        "Calls that store their second argument under their first.",
        "define setenv putenv setproperty set_env set put header",
    ),
    (
        "WRAPS",
        "Calls that leave a string what it is.",
        "Some Ok String SecretString SecretStr Secret Sensitive []byte String::from PASSWORD",
    ),
];

/// The source of the table: the sets as bits, where each bucket begins, and the entries. An entry is the length of a
/// word, the number of its combination of sets, and the word.
pub(crate) fn write() -> String {
    let mut words: BTreeMap<(usize, &str), u32> = BTreeMap::new();
    for (number, (.., list)) in SETS.iter().enumerate() {
        for word in list.split(' ') {
            *words.entry((bucket(word.as_bytes()), word)).or_default() |= 1 << number;
        }
    }
    let mut combinations: Vec<u32> = words.values().copied().collect();
    combinations.sort_unstable();
    combinations.dedup();
    let mut starts = vec![0u16; BUCKETS + 1];
    let mut entries: Vec<u8> = Vec::new();
    for (&(bucket, word), sets) in &words {
        let combination = combinations.binary_search(sets).unwrap_or_else(|_| panic!("{word} has no sets"));
        let size = u8::try_from(word.len()).unwrap_or_else(|_| panic!("{word} is too long"));
        entries.extend([size, u8::try_from(combination).unwrap_or_else(|_| panic!("more than 256 combinations"))]);
        entries.extend(word.as_bytes());
        let end = u16::try_from(entries.len()).unwrap_or_else(|_| panic!("more than 64 KiB of words"));
        starts[bucket + 1..].fill(end);
    }
    let mut out = String::new();
    for (number, (name, what, _)) in SETS.iter().enumerate() {
        writeln!(out, "/// {what}\npub(crate) const {name}: u32 = 1 << {number};").unwrap_or_default();
    }
    writeln!(out, "static COMBINATIONS: &[u32] = &{combinations:?};").unwrap_or_default();
    writeln!(out, "static STARTS: &[u16] = &{starts:?};\nstatic ENTRIES: &[u8] = &{entries:?};").unwrap_or_default();
    out
}
