//! Files from strangers: each is refused with what is wrong and what to do, soon, in little memory, and leaves the home
//! exactly as it was.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use hermes_tests::home::{Ran, TestHome, snapshot};
use hermes_tests::{bombs, guests, manifests};

/// What hermes may take of address space for a bad file, in KiB: about half of what the worst of them would need.
const ADDRESS_SPACE_KIB: u64 = 3_000_000;

/// A home with a plugin in it, and what it looked like.
struct Kept {
    home: TestHome,
    before: Vec<String>,
}

impl Kept {
    fn new() -> Self {
        let home = TestHome::new();
        home.install_guest("good-redactor", "redact");
        let before = snapshot(&home.root());
        Self { home, before }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.work().join(name)
    }

    fn bytes(&self, name: &str, bytes: &[u8]) -> PathBuf {
        guests::write_bytes(&self.home.work(), name, bytes)
    }

    /// A plugin's folder with this manifest.
    fn folder(&self, name: &str, manifest: &str) -> PathBuf {
        let folder = self.path(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("plugin.toml"), manifest).unwrap();
        folder
    }

    /// Refused, with this in its message, and nothing touched.
    fn refuses(&self, path: &Path, said: &[&str]) -> Ran {
        let limit = format!("ulimit -v {ADDRESS_SPACE_KIB}");
        let ran = self.home.run_limited(&limit, ["plugins", "install", path.to_str().unwrap()]).expect(1);
        for said in said {
            assert!(ran.stderr.contains(said), "'{said}' is not said of {}: {}", path.display(), ran.stderr);
        }
        assert_eq!(snapshot(&self.home.root()), self.before, "{}", path.display());
        ran
    }
}

#[test]
fn archives_and_compressed_files_are_to_be_unpacked() {
    let kept = Kept::new();
    let mut tar = vec![0; 1024];
    tar[257..262].copy_from_slice(b"ustar");
    for (name, bytes, kind) in [
        ("zip", &b"PK\x03\x04\x14\0\0\0"[..], "a zip archive"),
        ("gz", b"\x1f\x8b\x08\0\0\0\0\0", "a gzip file"),
        ("tar", &tar, "a tar archive"),
        ("zst", b"\x28\xb5\x2f\xfd\x04\0", "a zstd file"),
        ("xz", b"\xfd7zXZ\0\0\0", "an xz file"),
    ] {
        let path = kept.bytes(name, bytes);
        let message = format!("not-wasm: the file is {kind}, not WebAssembly");
        drop(kept.refuses(&path, &[&message, "unpack it and give the .wasm file that is inside"]));
        // The same beside a manifest.
        let folder = kept.folder(&format!("folder-{name}"), &manifests::plain("subject", "redact"));
        fs::write(folder.join("subject.wasm"), bytes).unwrap();
        drop(kept.refuses(&folder, &[&message]));
    }
}

#[test]
fn links_that_lead_out_of_the_folder_are_refused() {
    let kept = Kept::new();
    let manifest = manifests::plain("good-redactor", "redact");
    let secret = kept.path("secret.toml");
    fs::write(&secret, "token = \"tok-neverShown\"").unwrap();
    for target in [Path::new("/etc/passwd"), Path::new("../secret.toml"), &secret] {
        let folder = kept.path("linked-manifest");
        fs::create_dir(&folder).unwrap();
        symlink(target, folder.join("plugin.toml")).unwrap();
        let ran = kept.refuses(&folder, &["plugin.toml' leads out of its folder to somewhere else"]);
        assert!(!ran.all().contains("root:") && !ran.all().contains("neverShown"), "{ran:?}");
        fs::remove_dir_all(folder).unwrap();
    }
    let outside = kept.bytes("outside", &guests::component("good-redactor"));
    let folder = kept.folder("linked-component", &manifest);
    symlink(&outside, folder.join("good-redactor.wasm")).unwrap();
    drop(kept.refuses(&folder, &["good-redactor.wasm' leads out of its folder", "put the file itself there"]));
    fs::remove_file(folder.join("good-redactor.wasm")).unwrap();
    fs::create_dir(folder.join("inside")).unwrap();
    symlink("/dev", folder.join("build")).unwrap();
    symlink("build/zero", folder.join("good-redactor.wasm")).unwrap();
    drop(kept.refuses(&folder, &["good-redactor.wasm' leads out of its folder"]));
    // A link that stays inside is an ordinary thing.
    fs::remove_file(folder.join("good-redactor.wasm")).unwrap();
    fs::write(folder.join("inside/it.wasm"), guests::component("good-redactor")).unwrap();
    symlink("inside/it.wasm", folder.join("good-redactor.wasm")).unwrap();
    drop(kept.home.run(["plugins", "check", folder.to_str().unwrap()]).expect(0));
}

#[test]
fn devices_pipes_and_folders_are_no_files() {
    let kept = Kept::new();
    drop(kept.refuses(Path::new("/dev/zero"), &["'/dev/zero' is a device, not a file"]));
    // A regular file by its looks, which the system refuses to read.
    drop(kept.refuses(Path::new("/proc/self/mem"), &["cannot read '/proc/self/mem'"]));
    let pipe = kept.path("pipe.wasm");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    drop(kept.refuses(&pipe, &["pipe.wasm' is a pipe, not a file"]));
    let folder = kept.folder("piped", &manifests::plain("subject", "redact"));
    nix::unistd::mkfifo(&folder.join("subject.wasm"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    drop(kept.refuses(&folder, &["subject.wasm' is a pipe, not a file"]));
    let folder = kept.path("piped-manifest");
    fs::create_dir(&folder).unwrap();
    nix::unistd::mkfifo(&folder.join("plugin.toml"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    drop(kept.refuses(&folder, &["plugin.toml' is a pipe, not a file"]));
    let folder = kept.path("foldered-manifest");
    fs::create_dir_all(folder.join("plugin.toml")).unwrap();
    drop(kept.refuses(&folder, &["plugin.toml' is a folder, not a file"]));
}

#[test]
fn files_that_are_too_large_are_not_read() {
    let kept = Kept::new();
    let path = kept.path("one-more.wasm");
    File::create(&path).unwrap().set_len(64 * 1024 * 1024 + 1).unwrap();
    drop(kept.refuses(&path, &["has 67108865 bytes, more than the 67108864 allowed"]));
    let folder = kept.folder("large", &manifests::plain("subject", "redact"));
    File::create(folder.join("subject.wasm")).unwrap().set_len(1 << 40).unwrap();
    drop(kept.refuses(&folder, &["has 1099511627776 bytes, more than the 67108864 allowed"]));
    let manifest = format!("{}# {}\n", manifests::plain("subject", "redact"), "x".repeat(1024 * 1024));
    let folder = kept.folder("long-manifest", &manifest);
    drop(kept.refuses(&folder, &["more than the 262144 allowed"]));
    let packed = kept.bytes("long", &manifests::pack(&guests::component("good-redactor"), &manifest));
    drop(kept.refuses(&packed, &["manifest: the manifest is larger than 256 KiB"]));
}

#[test]
fn two_manifests_in_one_file_are_one_too_many() {
    let kept = Kept::new();
    let one = guests::packed("good-redactor", "redact");
    let other = manifests::pack(&one[..8], &manifests::plain("somebody-else", "redact"));
    let both = kept.bytes("both", &[&one[..], &other[8..]].concat());
    drop(kept.refuses(&both, &["manifest: the component has 2 manifests inside", "`hermes plugins pack`"]));
}

#[test]
fn a_name_is_a_name_and_no_path() {
    let kept = Kept::new();
    for name in ["../../escaped", "/etc/escaped", "a/b", "..", ".", ""] {
        let manifest = manifests::plain(name, "redact");
        let path = guests::write(&kept.home.work(), "good-redactor", &manifest);
        drop(kept.refuses(&path, &["manifest:", "name"]));
        let path = path.to_str().unwrap();
        drop(kept.home.run(["plugins", "install", path, "--name", name]).expect(2));
    }
    assert_eq!(snapshot(&kept.home.root()), kept.before);
}

#[test]
fn files_that_ask_for_much_are_refused_before_they_get_it() {
    let kept = Kept::new();
    for (name, bytes, said) in [
        ("nested", bombs::nested(3000), "limits: it holds 17 levels of modules and components, more than the 16"),
        ("beside", bombs::beside(100_000), "limits: it holds 501 modules and components, more than the 500"),
        ("imports", bombs::claims_a_million_imports(), "limits: it holds 1000000 types, imports"),
        ("exports", bombs::a_million_exports(), "limits: it holds 1000002 types, imports"),
        ("types", bombs::a_million_types(), "bytes of types, imports and exports, more than the 1048576"),
        ("type-of-types", bombs::a_type_of_types(), "limits: the types of its imports and exports have more parts"),
        ("locals", bombs::many_locals(), "local variables, more than the 4000000"),
        ("branches", bombs::wide_branch_tables(), "targets of branch tables, more than the 1000000"),
        ("function", bombs::a_long_function(), "bytes in one function, more than the 1048576"),
    ] {
        let ran = kept.refuses(&kept.bytes(name, &bytes), &["limits: ", said]);
        assert!(ran.stderr.lines().count() < 12, "{name}: {}", ran.stderr);
    }
}

#[test]
fn a_million_empty_sections_are_only_read() {
    let kept = Kept::new();
    // It is a component, and has nothing a plugin must have.
    drop(kept.refuses(&kept.bytes("sections", &bombs::empty_sections(1_000_000)), &["no-hooks: "]));
}

#[test]
fn what_an_instance_would_begin_with_is_limited() {
    // These export no hook, which is said first: the pipeline never comes to starting them.
    let kept = Kept::new();
    for (name, bytes) in [
        ("memory", bombs::with_memory(65536)),
        ("table", bombs::with_table(10_000_000)),
        ("instances", bombs::with_instances(900)),
    ] {
        drop(kept.refuses(&kept.bytes(name, &bytes), &["no-hooks: "]));
    }
}

#[test]
fn a_file_that_changes_all_the_time_is_refused_or_installed_whole() {
    let kept = Kept::new();
    let path = kept.path("good-redactor.wasm");
    let versions: Vec<Vec<u8>> = (0..2)
        .map(|n| {
            let manifest = manifests::plain("good-redactor", "redact").replace("of the tests", &format!("number {n}"));
            manifests::pack(&guests::component("good-redactor"), &manifest)
        })
        .collect();
    let digests: Vec<String> =
        versions.iter().map(|bytes| hermes_plugins::digest::Digest::of(bytes).to_string()).collect();
    fs::write(&path, &versions[0]).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0.. {
                if stop.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                // In place, so that a reader can meet half of one and half of the other.
                fs::write(&path, &versions[round % 2]).unwrap();
            }
        });
        for _ in 0..6 {
            let before = kept.home.row("good-redactor")["digest"].clone();
            let ran = kept.home.run(["plugins", "install", path.to_str().unwrap()]);
            let now = kept.home.row("good-redactor");
            assert_eq!(now["state"], "loaded", "{now} {ran:?}");
            match ran.code {
                Some(0) => assert!(digests.iter().any(|digest| now["digest"] == **digest), "{now} {ran:?}"),
                _ => assert_eq!(now["digest"], before, "{ran:?}"),
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}
