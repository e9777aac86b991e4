//! A client of HTTP that can be as wrong as it likes, and the peer behind the server.

use std::net::SocketAddr;
use std::time::Duration;

use hermes_mcp::http::server::{HttpOptions, HttpServer};
use hermes_mcp::http::streams::Streams;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// Long enough for anything that is not stuck.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// Waits for what must come.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(LONG, what).await.expect("it did not come in time")
}

/// A server whose peers are played by the test.
pub(crate) struct Front {
    pub(crate) addr: SocketAddr,
    peers: mpsc::UnboundedReceiver<Peer>,
    end: Option<oneshot::Sender<()>>,
    pub(crate) serving: JoinHandle<()>,
}

impl Front {
    pub(crate) async fn start() -> Self {
        Self::with(|_| ()).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut HttpOptions)) -> Self {
        let mut options = HttpOptions::new("127.0.0.1:0".parse().unwrap(), None);
        change(&mut options);
        let server = HttpServer::bind(options).await.unwrap();
        let addr = server.local_addr();
        assert_eq!(server.url(), format!("http://{addr}/mcp"));
        let (told, peers) = mpsc::unbounded_channel();
        let (end, ended) = oneshot::channel::<()>();
        let connect = move |_| {
            let (near, far) = Streams::pair();
            // A test that is over takes none.
            let _ = told.send(Peer::new(far));
            near
        };
        let serving = tokio::spawn(async move {
            server.serve(connect, async move { drop(ended.await) }).await;
        });
        Self { addr, peers, end: Some(end), serving }
    }

    /// The peer of the next session.
    pub(crate) async fn peer(&mut self) -> Peer {
        soon(self.peers.recv()).await.unwrap()
    }

    /// Tells the server to end.
    pub(crate) fn end(&mut self) {
        self.end.take().unwrap().send(()).unwrap();
    }

    pub(crate) async fn connect(&self) -> Client {
        Client { stream: BufReader::new(TcpStream::connect(self.addr).await.unwrap()) }
    }

    /// Sends a request on a connection of its own, and reads the head of its answer.
    pub(crate) async fn ask(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut client = self.connect().await;
        client.send(method, "/mcp", headers, body.as_bytes()).await;
        client.answer().await
    }

    /// Begins a session, whose peer answers.
    pub(crate) async fn begin(&mut self, version: &str) -> (Dialogue<'_>, Peer) {
        let mut client = self.connect().await;
        client.send("POST", "/mcp", &[], initialize(version).as_bytes()).await;
        let mut peer = self.peer().await;
        assert_eq!(peer.heard().await["method"], "initialize");
        peer.say(&json!({"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": version}})).await;
        let answer = client.answer().await;
        assert_eq!(answer.status, 200);
        let session = answer.header("mcp-session-id").unwrap().to_owned();
        (Dialogue { front: self, session }, peer)
    }
}

pub(crate) fn initialize(version: &str) -> String {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": version}}).to_string()
}

pub(crate) fn call(id: u64) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"_meta": {"progressToken": id}}}).to_string()
}

pub(crate) fn answer(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": {"of": id}})
}

pub(crate) fn progress(token: u64, at: u64) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": at}})
}

/// What is asked within one session.
pub(crate) struct Dialogue<'a> {
    front: &'a Front,
    pub(crate) session: String,
}

impl Dialogue<'_> {
    pub(crate) async fn post(&self, body: &str) -> Answer {
        self.front.ask("POST", &[("mcp-session-id", &self.session)], body).await
    }

    /// Posts what is answered only when its peer says something.
    pub(crate) async fn posted(&self, body: &str) -> Client {
        let mut client = self.front.connect().await;
        client.send("POST", "/mcp", &[("mcp-session-id", &self.session)], body.as_bytes()).await;
        client
    }

    pub(crate) async fn get(&self, after: Option<&str>) -> Answer {
        let mut headers = vec![("mcp-session-id", self.session.as_str())];
        headers.extend(after.map(|after| ("last-event-id", after)));
        self.front.ask("GET", &headers, "").await
    }

    pub(crate) async fn delete(&self) -> Answer {
        self.front.ask("DELETE", &[("mcp-session-id", &self.session)], "").await
    }
}

/// The peer of one session.
pub(crate) struct Peer {
    read: BufReader<ReadHalf<DuplexStream>>,
    write: WriteHalf<DuplexStream>,
}

impl Peer {
    fn new(far: DuplexStream) -> Self {
        let (read, write) = tokio::io::split(far);
        Self { read: BufReader::new(read), write }
    }

    /// The next line, as it is.
    pub(crate) async fn line(&mut self) -> String {
        let mut line = String::new();
        soon(self.read.read_line(&mut line)).await.unwrap();
        line
    }

    /// The next message.
    pub(crate) async fn heard(&mut self) -> Value {
        serde_json::from_str(&self.line().await).unwrap()
    }

    /// Whether the session ended.
    pub(crate) async fn is_left(&mut self) -> bool {
        self.line().await.is_empty()
    }

    pub(crate) async fn say(&mut self, message: &Value) {
        self.write_all(format!("{message}\n").as_bytes()).await;
    }

    pub(crate) async fn write_all(&mut self, bytes: &[u8]) {
        soon(self.write.write_all(bytes)).await.unwrap();
    }
}

/// One connection.
pub(crate) struct Client {
    pub(crate) stream: BufReader<TcpStream>,
}

impl Client {
    /// Sends a request, with the headers every client sends unless they are given.
    pub(crate) async fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) {
        let usual = [
            ("host", "localhost"),
            ("accept", "application/json, text/event-stream"),
            ("content-type", "application/json"),
        ];
        let length = body.len().to_string();
        let length = [("content-length", length.as_str())];
        let named = |name: &str| headers.iter().any(|(given, _)| *given == name);
        let more = usual.iter().chain(&length).filter(|(name, _)| !named(name));
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        for (name, value) in more.chain(headers).filter(|(_, value)| *value != "-") {
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        // Who refuses early does not read the rest.
        let _ = self.stream.get_mut().write_all(&[head.as_bytes(), body].concat()).await;
    }

    /// Reads the head of an answer.
    pub(crate) async fn answer(mut self) -> Answer {
        let status = self.line().await;
        let status = status.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {status:?}")).parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line().await;
            match line.split_once(": ") {
                Some((name, value)) => headers.push((name.to_lowercase(), value.to_owned())),
                None => return Answer { status, headers, client: self, text: String::new() },
            }
        }
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        soon(self.stream.read_line(&mut line)).await.unwrap();
        line.trim_end().to_owned()
    }
}

/// An answer whose body is still to be read.
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    client: Client,
    text: String,
}

/// One event of a stream.
#[derive(Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) retry: bool,
    pub(crate) data: Option<Value>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }

    /// The body, as JSON.
    pub(crate) async fn json(self) -> Value {
        serde_json::from_str(&self.body().await).unwrap()
    }

    /// The body, as it is written.
    pub(crate) async fn body(mut self) -> String {
        assert_eq!(self.header("content-type"), Some("application/json"));
        let length: usize = self.header("content-length").unwrap().parse().unwrap();
        let mut body = vec![0; length];
        soon(self.client.stream.read_exact(&mut body)).await.unwrap();
        String::from_utf8(body).unwrap()
    }

    /// The one message that is answered, as it is written: the body, or the data of the one event.
    pub(crate) async fn written(mut self) -> String {
        if !self.is_stream() {
            return self.body().await;
        }
        loop {
            let block = self.block().await.expect("the stream is over");
            let data = block.lines().find_map(|line| line.strip_prefix("data: "));
            if let Some(data) = data.filter(|data| !data.is_empty()) {
                return data.to_owned();
            }
        }
    }

    /// The next piece of the body. False: it is over.
    async fn chunk(&mut self) -> bool {
        let size = self.client.line().await;
        let Ok(size) = usize::from_str_radix(&size, 16) else { return false };
        let mut chunk = vec![0; size + 2];
        soon(self.client.stream.read_exact(&mut chunk)).await.unwrap();
        self.text += std::str::from_utf8(&chunk[..size]).unwrap();
        size > 0
    }

    /// The next event or comment, as it stands there. `None`: the stream is over.
    pub(crate) async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                return Some(block);
            }
            if !self.chunk().await {
                return None;
            }
        }
    }

    /// The next event. `None`: the stream is over.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        loop {
            let block = self.block().await?;
            let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            if let Some(data) = field("data:") {
                let data = (!data.is_empty()).then(|| serde_json::from_str(data).unwrap());
                return Some(Event { id: field("id:").unwrap().to_owned(), retry: field("retry:").is_some(), data });
            }
        }
    }

    /// The message of the next event that has one.
    pub(crate) async fn message(&mut self) -> Value {
        loop {
            if let Some(data) = self.event().await.expect("the stream is over").data {
                return data;
            }
        }
    }
}
