//! A real HTTPS server on loopback, with an authority of its own, that remembers what it was asked.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use hermes_tests::wait;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

/// How a request is answered.
pub(super) enum Answer {
    /// With this status and these header lines.
    Status(u16, &'static str),
    /// Not at all, for as long as the other side waits.
    Never,
}

/// A request that arrived.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// Its first line.
    pub(super) line: String,
    /// Its headers, in lower case.
    pub(super) head: String,
    /// Its body.
    pub(super) body: Value,
}

/// The server. It ends with the test.
pub(super) struct Server {
    /// Its port on 127.0.0.1.
    pub(super) port: u16,
    folder: tempfile::TempDir,
    asked: Arc<Mutex<Vec<Asked>>>,
    given_up: Arc<Mutex<usize>>,
}

impl Server {
    /// A server that answers the nth request, from 0, so.
    pub(super) fn start(answer: impl Fn(usize) -> Answer + Send + Sync + 'static) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "An authority of the tests");
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(
                vec![leaf.der().clone()],
                PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
            )
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("authority.pem"), issuer.pem()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (asked, given_up) = (Arc::<Mutex<Vec<Asked>>>::default(), Arc::<Mutex<usize>>::default());
        let shared = (Arc::new(config), Arc::new(answer), Arc::clone(&asked), Arc::clone(&given_up));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (config, answer, asked, given_up) = shared.clone();
                std::thread::spawn(move || {
                    let connection = ServerConnection::new(config).unwrap();
                    // A client that refuses the certificate or goes away is nobody who asked.
                    let _ = serve(StreamOwned::new(connection, stream), &*answer, &asked, &given_up);
                });
            }
        });
        Self { port, folder, asked, given_up }
    }

    /// The file with its authority, for `SSL_CERT_FILE`.
    pub(super) fn authority(&self) -> PathBuf {
        self.folder.path().join("authority.pem")
    }

    /// What a grant for it says.
    pub(super) fn grant(&self) -> String {
        format!("http:127.0.0.1:{}+private", self.port)
    }

    /// What it was asked so far.
    pub(super) fn asked(&self) -> Vec<Asked> {
        lock(&self.asked).clone()
    }

    /// Waits until it was asked so often.
    pub(super) fn until_asked(&self, times: usize) -> Vec<Asked> {
        wait::until(&format!("{times} requests"), wait::PATIENCE, || {
            Some(self.asked()).filter(|asked| asked.len() >= times)
        })
    }

    /// How many of those that were never answered have gone away.
    pub(super) fn given_up(&self) -> usize {
        *lock(&self.given_up)
    }
}

fn serve(
    mut stream: StreamOwned<ServerConnection, TcpStream>,
    answer: &dyn Fn(usize) -> Answer,
    asked: &Mutex<Vec<Asked>>,
    given_up: &Mutex<usize>,
) -> std::io::Result<()> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&head).into_owned();
    let lower = text.to_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    let line = text.lines().next().unwrap_or_default().to_owned();
    let number = {
        let mut asked = lock(asked);
        asked.push(Asked { line, head: lower, body: serde_json::from_slice(&body).unwrap_or_default() });
        asked.len() - 1
    };
    match answer(number) {
        Answer::Status(status, headers) => {
            stream.write_all(format!("HTTP/1.1 {status} Word\r\n{headers}content-length: 0\r\n\r\n").as_bytes())?;
            stream.flush()
        }
        Answer::Never => {
            let _ = stream.read(&mut byte);
            *lock(given_up) += 1;
            Ok(())
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
