//! A small server of files over TLS on loopback, with a certificate authority of its own.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use hermes_tests::home::TestHome;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// What is answered to a path.
#[derive(Clone)]
pub(crate) enum Answer {
    /// A file.
    File(Vec<u8>),
    /// So many zeros, without saying beforehand how many.
    Zeros(usize),
    /// Another place.
    Elsewhere(String),
}

/// The server. It ends with the test.
pub(crate) struct Https {
    port: u16,
    authority: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Https {
    /// Serves these paths; 404 for any other.
    pub(crate) fn serving(paths: impl IntoIterator<Item = (&'static str, Answer)>) -> Self {
        let paths: Vec<(&str, Answer)> = paths.into_iter().collect();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
        let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder().with_no_client_auth();
        let config = Arc::new(config.with_single_cert(vec![leaf.der().clone()], secret).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
                // A client that has seen enough hangs up, which is its right.
                if let Ok(path) = answer(StreamOwned::new(connection, stream), &paths) {
                    heard.lock().unwrap().push(path);
                }
            }
        });
        Self { port, authority: issuer.pem(), asked }
    }

    /// The URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.port)
    }

    /// The paths that were asked for, with their queries.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// A home in which this server is trusted.
    pub(crate) fn trusted_home(&self) -> TestHome {
        let home = TestHome::new();
        let authorities: PathBuf = home.work().join("authorities.pem");
        std::fs::write(&authorities, &self.authority).unwrap();
        home.with("SSL_CERT_FILE", authorities.to_str().unwrap())
    }
}

/// Answers one request and says what it asked for.
fn answer(mut stream: StreamOwned<ServerConnection, TcpStream>, paths: &[(&str, Answer)]) -> std::io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let asked = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let path = asked.split('?').next().unwrap_or_default();
    match paths.iter().find(|(known, _)| *known == path).map(|(_, answer)| answer) {
        Some(Answer::File(bytes)) => {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len())?;
            stream.write_all(bytes)?;
        }
        Some(Answer::Zeros(count)) => {
            write!(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")?;
            std::io::copy(&mut std::io::repeat(0).take(*count as u64), &mut stream)?;
        }
        Some(Answer::Elsewhere(place)) => {
            write!(
                stream,
                "HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            )?;
        }
        None => write!(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?,
    }
    stream.conn.send_close_notify();
    stream.flush()?;
    Ok(asked)
}
