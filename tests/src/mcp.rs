//! An MCP client for tests, by hand: lines of JSON over the streams of a program or over a socket, every wait with an end.
//!
//! It must never hang: whatever does not come within the time fails the test and says what came instead. The program it
//! started is killed with it.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::wait::{self, PATIENCE};

/// The version of the protocol that a client asks for which says nothing else.
pub const VERSION: &str = "2025-06-18";
/// JSON-RPC 2.0: no such method.
const NO_METHOD: i64 = -32601;

/// Answers what the other side asks: a result, or an error object.
pub type Answers = dyn Fn(&str, &Value) -> Result<Value, Value> + Send + Sync;

/// What a client says of itself, and how it answers.
pub struct Manners {
    /// The version it asks for.
    pub version: String,
    /// What it can do.
    pub capabilities: Value,
    /// How it answers requests.
    pub answers: Box<Answers>,
}

impl Default for Manners {
    fn default() -> Self {
        let refuse = |method: &str, _: &Value| Err(json!({"code": NO_METHOD, "message": format!("not {method}")}));
        Self { version: VERSION.to_owned(), capabilities: json!({}), answers: Box::new(refuse) }
    }
}

#[derive(Default)]
struct Heard {
    /// Everything, byte for byte.
    bytes: Vec<u8>,
    /// Answers nobody took yet, each with the time it came.
    answers: Vec<(Value, Instant)>,
    notifications: Vec<Value>,
    requests: Vec<Value>,
    /// Lines that are no message.
    junk: Vec<String>,
    errors: Vec<u8>,
    over: bool,
}

#[derive(Default)]
struct Ear {
    heard: Mutex<Heard>,
    more: Condvar,
}

impl Ear {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Waits until something can be found, or nothing more can come.
    fn until<T>(&self, within: Duration, mut look: impl FnMut(&mut Heard) -> Option<T>) -> Option<T> {
        let end = Instant::now() + within;
        let mut heard = self.heard();
        loop {
            if let Some(found) = look(&mut heard) {
                return Some(found);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || heard.over {
                return None;
            }
            heard = self.more.wait_timeout(heard, left).unwrap_or_else(|broken| broken.into_inner()).0;
        }
    }
}

/// What a client writes to.
enum Pen {
    Pipe(ChildStdin),
    Socket(UnixStream),
}

impl Write for Pen {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Pipe(pipe) => pipe.write(bytes),
            Self::Socket(socket) => socket.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Pipe(pipe) => pipe.flush(),
            Self::Socket(socket) => socket.flush(),
        }
    }
}

/// A client. All its verbs take `&self`, so that threads can share it.
pub struct Client {
    ear: Arc<Ear>,
    pen: Arc<Mutex<Option<Pen>>>,
    child: Mutex<Option<Child>>,
    pid: i32,
    asked: Mutex<u64>,
    hello: Value,
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.pen().take());
        if let Some(child) = self.child.get_mut().unwrap_or_else(|broken| broken.into_inner()) {
            // Best effort: it may have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Client {
    /// Starts a program and greets it.
    ///
    /// # Panics
    /// It does not start, or does not answer.
    pub fn start(command: Command) -> Self {
        Self::start_as(command, Manners::default())
    }

    /// The same, with manners.
    ///
    /// # Panics
    /// It does not start, or does not answer.
    pub fn start_as(command: Command, manners: Manners) -> Self {
        let (version, capabilities) = (manners.version.clone(), manners.capabilities.clone());
        let mut client = Self::raw(command, manners);
        client.greet(&version, &capabilities);
        client
    }

    /// Starts a program and says nothing to it.
    ///
    /// # Panics
    /// It does not start.
    pub fn raw(mut command: Command, manners: Manners) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let pid = i32::try_from(child.id()).unwrap_or(0);
        let pen = stdin.map(Pen::Pipe);
        let client = Self::of(pen, Some(child), pid, stdout.expect("it has an output"), manners);
        let ear = Arc::clone(&client.ear);
        let mut stderr = stderr.expect("it has a stderr");
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(read @ 1..) = stderr.read(&mut piece) {
                ear.heard().errors.extend_from_slice(&piece[..read]);
                ear.more.notify_all();
            }
        });
        client
    }

    /// Connects to the socket of a host that is about to listen, and greets it.
    ///
    /// # Panics
    /// Nobody listens within the time, or whoever does has no answer.
    pub fn connect(socket: &Path) -> Self {
        Self::connect_as(socket, Manners::default())
    }

    /// The same, with manners.
    ///
    /// # Panics
    /// Nobody listens within the time, or whoever does has no answer.
    pub fn connect_as(socket: &Path, manners: Manners) -> Self {
        let stream = wait::until("a host that listens", PATIENCE, || UnixStream::connect(socket).ok());
        let reader = stream.try_clone().unwrap_or_else(|error| panic!("the socket has no second handle: {error}"));
        let (version, capabilities) = (manners.version.clone(), manners.capabilities.clone());
        let mut client = Self::of(Some(Pen::Socket(stream)), None, 0, reader, manners);
        client.greet(&version, &capabilities);
        client
    }

    fn of(
        pen: Option<Pen>,
        child: Option<Child>,
        pid: i32,
        output: impl Read + Send + 'static,
        manners: Manners,
    ) -> Self {
        let (ear, pen) = (Arc::new(Ear::default()), Arc::new(Mutex::new(pen)));
        let (listening, answering) = (Arc::clone(&ear), Arc::clone(&pen));
        std::thread::spawn(move || listen(output, &listening, &answering, &manners.answers));
        Self { ear, pen, child: Mutex::new(child), pid, asked: Mutex::new(0), hello: Value::Null }
    }

    fn greet(&mut self, version: &str, capabilities: &Value) {
        let info = json!({"name": "test", "version": "1.0"});
        let params = json!({"protocolVersion": version, "capabilities": capabilities, "clientInfo": info});
        let said = self.request("initialize", &params);
        assert!(said["result"].is_object(), "no greeting: {said}");
        self.hello = said["result"].clone();
        self.notify("notifications/initialized", &json!({}));
    }

    fn pen(&self) -> MutexGuard<'_, Option<Pen>> {
        self.pen.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// What the other side answered to `initialize`.
    pub fn hello(&self) -> &Value {
        &self.hello
    }

    /// The number of the program.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Writes bytes as they are. Whether anybody reads them is seen by what comes back.
    pub fn write(&self, bytes: &[u8]) {
        if let Some(pen) = self.pen().as_mut() {
            // Best effort: a reader that is gone gives no answer, and that is what a test looks at.
            let _ = pen.write_all(bytes).and_then(|()| pen.flush());
        }
    }

    /// Ends the input of the other side.
    pub fn close(&self) {
        if let Some(Pen::Socket(socket)) = self.pen().take() {
            // Best effort: it may be gone.
            let _ = socket.shutdown(std::net::Shutdown::Both);
        }
    }

    /// Says something that has no answer.
    pub fn notify(&self, method: &str, params: &Value) {
        self.write(format!("{}\n", json!({"jsonrpc": "2.0", "method": method, "params": params})).as_bytes());
    }

    /// Asks without waiting; the answer belongs to the number.
    pub fn begin(&self, method: &str, params: &Value) -> u64 {
        let id = {
            let mut asked = self.asked.lock().unwrap_or_else(|broken| broken.into_inner());
            *asked += 1;
            *asked
        };
        self.write(format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).as_bytes());
        id
    }

    /// Calls a tool without waiting.
    pub fn begin_call(&self, tool: &str, arguments: &Value) -> u64 {
        self.begin("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// The answer to a question and when it came, if it comes within the time. It is taken.
    pub fn answer_within(&self, id: u64, within: Duration) -> Option<(Value, Instant)> {
        self.ear.until(within, |heard| {
            let at = heard.answers.iter().position(|(answer, _)| answer["id"] == id)?;
            Some(heard.answers.remove(at))
        })
    }

    /// The answer to a question.
    ///
    /// # Panics
    /// It does not come within the time.
    pub fn answer(&self, id: u64) -> Value {
        self.answer_within(id, PATIENCE).unwrap_or_else(|| panic!("no answer to {id}: {}", self.state())).0
    }

    /// Asks, and gives the whole answer.
    ///
    /// # Panics
    /// It does not come within the time.
    pub fn request(&self, method: &str, params: &Value) -> Value {
        self.answer(self.begin(method, params))
    }

    /// Asks, and gives the result.
    ///
    /// # Panics
    /// There is none.
    pub fn result(&self, method: &str, params: &Value) -> Value {
        let mut answer = self.request(method, params);
        assert!(answer.get("result").is_some(), "{method} has no result: {answer}");
        answer["result"].take()
    }

    /// Calls a tool and gives its result, failed or not.
    ///
    /// # Panics
    /// There is none.
    pub fn call(&self, tool: &str, arguments: &Value) -> Value {
        self.result("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool that must not fail, and gives its first text.
    ///
    /// # Panics
    /// It fails or has no text.
    pub fn say(&self, tool: &str, arguments: &Value) -> String {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{tool} failed: {result}");
        first_text(&result)
    }

    /// All elements of a list, page by page.
    ///
    /// # Panics
    /// There is none, or its pages do not end.
    pub fn list(&self, method: &str, key: &str) -> Vec<Value> {
        let (mut all, mut params) = (Vec::new(), json!({}));
        for _ in 0..100 {
            let mut page = self.result(method, &params);
            let Value::Array(some) = page[key].take() else { panic!("{method} has no {key}: {page}") };
            all.extend(some);
            match page["nextCursor"].take() {
                Value::Null => return all,
                cursor => params = json!({"cursor": cursor}),
            }
        }
        panic!("{method} does not end")
    }

    /// The names of all tools.
    pub fn tools(&self) -> Vec<String> {
        let name = |tool: Value| tool["name"].as_str().unwrap_or_default().to_owned();
        self.list("tools/list", "tools").into_iter().map(name).collect()
    }

    /// Waits until these tools are offered.
    ///
    /// # Panics
    /// They are not within the time.
    pub fn until_tools(&self, wanted: &[&str]) {
        wait::until(&format!("the tools {wanted:?}"), PATIENCE, || {
            let tools = self.tools();
            wanted.iter().all(|name| tools.iter().any(|tool| tool == name)).then_some(())
        });
    }

    /// The notifications of a method that came so far, their params.
    pub fn notifications(&self, method: &str) -> Vec<Value> {
        of_method(&self.ear.heard().notifications, method)
    }

    /// Waits until so many notifications of a method came.
    ///
    /// # Panics
    /// They do not within the time.
    pub fn until_notified(&self, method: &str, count: usize) -> Vec<Value> {
        let found = self.ear.until(PATIENCE, |heard| {
            Some(of_method(&heard.notifications, method)).filter(|found| found.len() >= count)
        });
        found.unwrap_or_else(|| panic!("not {count} times {method}: {}", self.state()))
    }

    /// The requests of a method that came so far, their params.
    pub fn requests(&self, method: &str) -> Vec<Value> {
        of_method(&self.ear.heard().requests, method)
    }

    /// Lines that came and are no message.
    pub fn junk(&self) -> Vec<String> {
        self.ear.heard().junk.clone()
    }

    /// Everything that came, byte for byte.
    pub fn heard(&self) -> Vec<u8> {
        self.ear.heard().bytes.clone()
    }

    /// What the program complained of so far.
    pub fn errors(&self) -> String {
        String::from_utf8_lossy(&self.ear.heard().errors).into_owned()
    }

    /// Waits until the program has complained of something.
    ///
    /// # Panics
    /// It has not within the time.
    pub fn until_error(&self, part: &str) {
        wait::until(&format!("'{part}' on stderr"), PATIENCE, || self.errors().contains(part).then_some(()));
    }

    /// How the program ended.
    ///
    /// # Panics
    /// It does not end within the time, or no program was started.
    pub fn ended(&self) -> ExitStatus {
        let mut child = self.child.lock().unwrap_or_else(|broken| broken.into_inner());
        let child = child.as_mut().expect("a program was started");
        wait::until(&format!("the end of {}", self.pid), PATIENCE, || {
            child.try_wait().unwrap_or_else(|error| panic!("it cannot be waited for: {error}"))
        })
    }

    /// Waits until the other side hung up.
    ///
    /// # Panics
    /// It does not within the time.
    pub fn until_over(&self) {
        wait::until("the other side to hang up", PATIENCE, || self.ear.heard().over.then_some(()));
    }

    fn state(&self) -> String {
        let heard = self.ear.heard();
        let last = String::from_utf8_lossy(&heard.bytes[heard.bytes.len().saturating_sub(800)..]).into_owned();
        let errors = String::from_utf8_lossy(&heard.errors[heard.errors.len().saturating_sub(800)..]).into_owned();
        format!("over: {}, the last it said: {last}, the last it complained of: {errors}", heard.over)
    }
}

/// The text of the first block of a result that has one.
pub fn first_text(result: &Value) -> String {
    let blocks = result["content"].as_array();
    let text = blocks.and_then(|blocks| blocks.iter().find_map(|block| block["text"].as_str()));
    text.unwrap_or_else(|| panic!("no text in {result}")).to_owned()
}

fn of_method(messages: &[Value], method: &str) -> Vec<Value> {
    messages.iter().filter(|message| message["method"] == method).map(|message| message["params"].clone()).collect()
}

/// Sorts what comes, and answers what is asked.
fn listen(output: impl Read, ear: &Ear, pen: &Mutex<Option<Pen>>, answers: &Answers) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        let message: Option<Value> = serde_json::from_slice(&line).ok().filter(Value::is_object);
        let mut heard = ear.heard();
        heard.bytes.extend_from_slice(&line);
        let mut asked = None;
        match message {
            Some(message) if message["method"].is_string() && !message["id"].is_null() => {
                heard.requests.push(message.clone());
                asked = Some(message);
            }
            Some(message) if message["method"].is_string() => heard.notifications.push(message),
            Some(message) => heard.answers.push((message, Instant::now())),
            None => heard.junk.push(String::from_utf8_lossy(&line).into_owned()),
        }
        drop(heard);
        ear.more.notify_all();
        if let Some(asked) = asked {
            let id = &asked["id"];
            let answer = match answers(asked["method"].as_str().unwrap_or_default(), &asked["params"]) {
                Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
            };
            if let Some(pen) = pen.lock().unwrap_or_else(|broken| broken.into_inner()).as_mut() {
                // Best effort, as for whatever else is said.
                let _ = pen.write_all(format!("{answer}\n").as_bytes()).and_then(|()| pen.flush());
            }
        }
        line.clear();
    }
    ear.heard().over = true;
    ear.more.notify_all();
}
