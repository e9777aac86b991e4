//! For the tests: a real TLS server on loopback that answers each connection with the next of its answers.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::error::SendError;
use crate::wire::Authorities;

/// What the server does with a connection once it has read the head of a request and what the head announced of a body.
pub(crate) enum Answer {
    /// Sends these bytes and closes.
    Bytes(Vec<u8>),
    /// Sends these bytes and then nothing more, with the connection open.
    Hang(Vec<u8>),
    /// Sends this again and again until the other side has enough.
    Endless(Vec<u8>),
}

/// The server. It ends with the process.
pub(crate) struct Server {
    /// Its port on 127.0.0.1.
    pub(crate) port: u16,
    authority: Vec<u8>,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// A server over TLS with a certificate for this name.
    pub(crate) fn tls(name: &str, answers: Vec<Answer>) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(
                vec![leaf.der().clone()],
                PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
            )
            .unwrap();
        let config = Arc::new(config);
        Self::start(issuer.der().to_vec(), answers, move |stream, answer| {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            serve(StreamOwned::new(connection, stream), answer)
        })
    }

    /// A server over plain HTTP.
    pub(crate) fn plain(answers: Vec<Answer>) -> Self {
        Self::start(Vec::new(), answers, serve)
    }

    fn start(
        authority: Vec<u8>,
        answers: Vec<Answer>,
        serve: impl Fn(TcpStream, Answer) -> std::io::Result<String> + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let heads = Arc::clone(&seen);
        std::thread::spawn(move || {
            for answer in answers {
                let Ok((stream, _)) = listener.accept() else { return };
                if let Ok(head) = serve(stream, answer) {
                    heads.lock().unwrap_or_else(PoisonError::into_inner).push(head);
                }
            }
        });
        Self { port, authority, seen }
    }

    /// Its authority, for a client to trust.
    pub(crate) fn authorities(&self) -> Result<Authorities, SendError> {
        Authorities::of([self.authority.as_slice()])
    }

    /// The requests it has answered.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Reads a request and answers it. Gives the request.
fn serve(mut stream: impl Read + Write, answer: Answer) -> std::io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    let mut text = String::from_utf8_lossy(&head).into_owned();
    let length = text.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body)?;
    text.push_str(&String::from_utf8_lossy(&body));
    match answer {
        Answer::Bytes(bytes) => {
            stream.write_all(&bytes)?;
            stream.flush()?;
        }
        Answer::Hang(bytes) => {
            stream.write_all(&bytes)?;
            stream.flush()?;
            // Until the other side closes.
            let _ = stream.read(&mut byte);
        }
        Answer::Endless(bytes) => while stream.write_all(&bytes).is_ok() {},
    }
    Ok(text)
}
