//! The words that [`super`] knows, in small letters. Lists only.

/// Programs that run the program after them.
pub(super) const WRAPPERS: &[&str] = &[
    "busybox", "doas", "env", "exec", "ionice", "nice", "nohup", "setsid", "stdbuf", "sudo", "time", "timeout", "xargs",
];

/// Shells, which take a script behind `-c`.
pub(super) const SHELLS: &[&str] = &["ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "sh", "tcsh", "zsh"];

/// Interpreters with the options behind which a script stands.
pub(super) const INTERPRETERS: &[(&str, &[&str])] = &[
    ("bun", &["-e", "--eval", "-p", "--print"]),
    ("deno", &["eval"]),
    ("lua", &["-e"]),
    ("node", &["-e", "--eval", "-p", "--print", "-pe"]),
    ("nodejs", &["-e", "--eval", "-p", "--print", "-pe"]),
    ("perl", &["-e", "-ne", "-pe", "-le"]),
    ("php", &["-r"]),
    ("powershell", &["-c", "-command"]),
    ("pwsh", &["-c", "-command"]),
    ("python", &["-c"]),
    ("ruby", &["-e"]),
];

/// What reaches the network: programs, and what the libraries of interpreters are called.
pub(super) const EGRESS: &[&str] = &[
    "/dev/tcp/",
    "/dev/udp/",
    "aria2c",
    "curl",
    "downloadfile",
    "downloadstring",
    "fetch(",
    "ftp",
    "http.client",
    "http.get(",
    "http.request(",
    "https.get(",
    "https.request(",
    "httpx",
    "invoke-restmethod",
    "invoke-webrequest",
    "io::socket",
    "irm",
    "iwr",
    "lwp",
    "nc",
    "ncat",
    "net.connect",
    "net.socket",
    "net::http",
    "netcat",
    "open-uri",
    "requests",
    "scp",
    "sftp",
    "socat",
    "socket",
    "telnet",
    "tftp",
    "urllib",
    "urlopen",
    "wget",
];

/// What runs a text as code, or makes a file a program.
pub(super) const RUNS: &[&str] = &[
    "chmod",
    "child_process",
    "eval",
    "exec(",
    "execsync",
    "iex",
    "invoke-expression",
    "mkfifo",
    "os.system",
    "os.popen",
    "pty.spawn",
    "spawn(",
    "spawnsync",
    "subprocess",
    "system",
    "system(",
    "0>&1",
    "-e /bin/sh",
    "-e /bin/bash",
    "-e sh",
    "-e bash",
];

/// What sends something: options of the programs above, and methods of the libraries.
pub(super) const UPLOADS: &[&str] = &[
    "--data",
    "--data-binary",
    "--data-raw",
    "--data-urlencode",
    "--form",
    "--json",
    "--post-data",
    "--post-file",
    "--upload-file",
    "-x post",
    "-x put",
    "--request post",
    "--request put",
    ".post(",
    ".put(",
    ".sendall(",
    "method: post",
    "method:post",
    "> /dev/tcp/",
    ">/dev/tcp/",
    "scp",
    "sftp",
    "tftp",
    "nc <",
];

/// Options that send something, in their own case: `-f` is not `-F`.
pub(super) const UPLOAD_OPTIONS: &[&str] = &["-d", "-F", "-T"];

/// What makes code of a text that nobody can read.
pub(super) const DECODERS: &[&str] = &[
    "atob(",
    "b64decode",
    "base32 -d",
    "base64 --decode",
    "base64 -d",
    "base64 -di",
    "base64)",
    "frombase64string",
    "fromhex",
    "openssl enc -d",
    "xxd -r",
];

/// Places whose content is run or believed without anybody asking, with what they are called. Any touch counts.
pub(super) const PLACES: &[(&str, &str)] = &[
    ("authorized_keys", "the keys that may sign in"),
    ("/.ssh", "the folder of SSH keys"),
    (".ssh/", "the folder of SSH keys"),
    ("/etc/pam", "the rules of signing in"),
    ("pam.d", "the rules of signing in"),
    ("/etc/passwd", "the list of users"),
    ("/etc/shadow", "the passwords of users"),
    ("sudoers", "the rules of sudo"),
    ("/etc/cron", "what runs by the clock"),
    ("/var/spool/cron", "what runs by the clock"),
    ("crontab", "what runs by the clock"),
    ("/etc/systemd", "the units of systemd"),
    ("systemd/user", "the units of systemd"),
    ("systemd/system", "the units of systemd"),
    ("/etc/init", "what runs at the start of the machine"),
    ("/etc/rc.", "what runs at the start of the machine"),
    ("/etc/ld.so.preload", "what is loaded into every program"),
    (".config/autostart", "what runs when somebody signs in"),
    ("launchagents", "what runs when somebody signs in"),
    ("launchdaemons", "what runs at the start of the machine"),
];

/// Files that every shell runs. To read them is usual, to name them for anything else is not.
pub(super) const SETTINGS_OF_SHELLS: &[(&str, &str)] = &[
    (".bashrc", "a file that every shell runs"),
    (".bash_profile", "a file that every shell runs"),
    (".bash_login", "a file that every shell runs"),
    (".bash_logout", "a file that every shell runs"),
    (".profile", "a file that every shell runs"),
    (".zshrc", "a file that every shell runs"),
    (".zshenv", "a file that every shell runs"),
    (".zprofile", "a file that every shell runs"),
    (".zlogin", "a file that every shell runs"),
    ("config.fish", "a file that every shell runs"),
    ("/etc/profile", "a file that every shell runs"),
    ("/etc/bash.bashrc", "a file that every shell runs"),
];

/// Programs that write where their arguments say, without a shell.
pub(super) const COMMANDS_THAT_WRITE: &[&str] =
    &["cp", "crontab", "dd", "install", "ln", "mv", "rsync", "sed", "ssh-copy-id", "tee", "visudo"];
