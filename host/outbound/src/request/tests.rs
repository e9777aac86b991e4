//! A request against a real server on loopback: what arrives, what is refused, and in which words. Nothing here may reach
//! another machine.

use std::time::Duration;

use super::*;
use crate::fetch::fetch_trusting;
use crate::server::{Answer, Server};

/// What a test waits where it waits for nothing.
const LONG: Duration = Duration::from_secs(60);

fn ok(body: &str) -> Answer {
    Answer::Bytes(
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nX-Kind: yes\r\n\r\n{body}", body.len()).into_bytes(),
    )
}

fn asked<'a>(method: &'a str, url: &'a str, headers: &'a [(String, String)], body: &'a [u8]) -> Request<'a> {
    Request { method, url, headers, body, timeout: LONG, response_max: 1000 }
}

fn get(server: &Server, url: &str, grant: &str) -> Result<Response, SendError> {
    let reach = Reach::of([grant.parse().unwrap()]);
    send_trusting(&asked("GET", url, &[], &[]), &reach, &|| server.authorities())
}

/// A GET at a server with a certificate for `localhost`, which is granted.
fn get_of(answer: Answer) -> Result<Response, SendError> {
    let server = Server::tls("localhost", vec![answer]);
    let url = format!("https://localhost:{}/path?q=1", server.port);
    get(&server, &url, &format!("localhost:{}+private", server.port))
}

fn error_of(answer: Answer) -> String {
    match get_of(answer) {
        Ok(response) => panic!("a response with status {}", response.status),
        Err(error) => error.to_string().replace(|c: char| c.is_ascii_digit(), "0"),
    }
}

#[test]
fn a_request_arrives_as_it_was_made_and_the_answer_comes_back() {
    let server = Server::tls("localhost", vec![ok("hello"), ok("")]);
    let url = format!("https://LOCALHOST:{}/a/b?c=d", server.port);
    let reach = Reach::of([format!("localhost:{}+private", server.port).parse().unwrap()]);
    let headers = [("X-Token".to_owned(), "s3cret".to_owned())];
    let response =
        send_trusting(&asked("POST", &url, &headers, b"{\"a\":1}"), &reach, &|| server.authorities()).ok().unwrap();
    assert_eq!((response.status, response.body.as_slice()), (200, &b"hello"[..]));
    assert!(response.headers.contains(&("x-kind".to_owned(), "yes".to_owned())));
    let empty = send_trusting(&asked("POST", &url, &[], b""), &reach, &|| server.authorities()).ok().unwrap();
    assert!(empty.body.is_empty());
    let seen = server.seen().remove(0);
    assert!(seen.starts_with("POST /a/b?c=d HTTP/1.1\r\n"), "{seen}");
    assert!(seen.to_lowercase().contains("x-token: s3cret\r\n"), "{seen}");
    assert!(seen.ends_with("\r\n\r\n{\"a\":1}"), "{seen}");
    assert!(!seen.to_lowercase().contains("gzip"), "{seen}");
}

#[test]
fn every_status_is_an_answer_and_a_redirect_is_not_followed() {
    for status in [204, 301, 302, 307, 400, 404, 429, 500, 503] {
        let text = format!("HTTP/1.1 {status} Word\r\nlocation: https://localhost:1/\r\ncontent-length: 0\r\n\r\n");
        assert_eq!(get_of(Answer::Bytes(text.into_bytes())).ok().map(|response| response.status), Some(status));
    }
}

#[test]
fn a_certificate_from_an_unknown_authority_is_refused() {
    let server = Server::tls("localhost", vec![ok("")]);
    let other = Server::tls("localhost", Vec::new());
    let url = format!("https://localhost:{}/", server.port);
    let reach = Reach::of([format!("localhost:{}+private", server.port).parse().unwrap()]);
    let error = send_trusting(&asked("GET", &url, &[], &[]), &reach, &|| other.authorities()).err().unwrap();
    assert!(error.to_string().ends_with("its certificate is from an authority this machine does not trust"), "{error}");
    assert!(server.seen().is_empty());
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let server = Server::tls("other.example.com", vec![ok("")]);
    let url = format!("https://localhost:{}/", server.port);
    let error = get(&server, &url, &format!("localhost:{}+private", server.port)).err().unwrap();
    assert!(error.to_string().ends_with("its certificate is for another name"), "{error}");
    assert!(server.seen().is_empty());
}

#[test]
fn a_server_that_says_nothing_or_stops_in_the_middle_costs_the_time_given() {
    for begun in ["", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc"] {
        let server = Server::tls("localhost", vec![Answer::Hang(begun.into())]);
        let url = format!("https://localhost:{}/", server.port);
        let reach = Reach::of([format!("localhost:{}+private", server.port).parse().unwrap()]);
        let request = Request { timeout: Duration::from_millis(300), ..asked("GET", &url, &[], &[]) };
        let error = send_trusting(&request, &reach, &|| server.authorities()).err();
        assert_eq!(error, Some(SendError::TimedOut(format!("localhost:{}", server.port))), "{begun}");
    }
}

#[test]
fn an_answer_that_is_too_large_is_cut_off_and_said_so() {
    let announced =
        Answer::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 1001\r\n\r\n".iter().copied().chain([b'x'; 1001]).collect());
    assert_eq!(error_of(announced), "localhost:00000 sent more than the 0000 bytes that are read of a response");
    let exact =
        Answer::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n".iter().copied().chain([b'x'; 1000]).collect());
    assert_eq!(get_of(exact).ok().unwrap().body.len(), 1000);
    let endless =
        Server::tls("localhost", vec![Answer::Endless(b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n".to_vec())]);
    let url = format!("https://localhost:{}/", endless.port);
    let error = get(&endless, &url, &format!("localhost:{}+private", endless.port)).err().unwrap();
    assert!(matches!(error, SendError::TooLarge { max: 1000, .. }), "{error}");
    let headers = Answer::Bytes(format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(200_000)).into_bytes());
    assert_eq!(error_of(headers), "localhost:00000: the headers of its answer are too large");
}

#[test]
fn a_connection_that_ends_too_early_is_a_failure_in_fixed_words() {
    let early = "localhost:00000: the connection was closed before the answer was whole";
    assert_eq!(error_of(Answer::Bytes(Vec::new())), early);
    let cut = error_of(Answer::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc".to_vec()));
    assert!(cut == early || cut.ends_with("its answer is not HTTP, or ends too early"), "{cut}");
    let secret = error_of(Answer::Bytes(b"s3cret\r\n\r\n".to_vec()));
    assert!(!secret.contains("s3cret"), "{secret}");
}

#[test]
fn nothing_is_sent_to_an_address_that_may_not_be_reached() {
    let server = Server::tls("localhost", vec![ok("")]);
    let port = server.port;
    for host in ["localhost", "127.0.0.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]"] {
        let error = get(&server, &format!("https://{host}:{port}/"), &format!("{host}:{port}")).err().unwrap();
        assert!(matches!(error, SendError::Address { kind: "loopback", .. }), "{host}: {error}");
    }
    let error = get(&server, &format!("https://localhost:{port}/"), "other.example.com").err().unwrap();
    assert_eq!(error, SendError::Denied(format!("localhost:{port}")));
    let error = get(&server, &format!("https://localhost:{port}/"), "localhost+private").err().unwrap();
    assert_eq!(error, SendError::Denied(format!("localhost:{port}")), "a target without a port means 443");
    let error = get(&server, "https://169.254.169.254/latest", "169.254.169.254").err().unwrap();
    assert!(error.to_string().contains("metadata service hands out credentials"), "{error}");
    assert!(server.seen().is_empty());
}

#[test]
fn plain_http_needs_a_grant_that_says_so() {
    let server = Server::plain(vec![ok("plain")]);
    let url = format!("http://127.0.0.1:{}/", server.port);
    let error = get(&server, &url, &format!("127.0.0.1:{}+private", server.port)).err().unwrap();
    assert_eq!(error, SendError::Plain(format!("127.0.0.1:{}", server.port)));
    let response = get(&server, &url, &format!("127.0.0.1:{}+private+plain", server.port)).ok().unwrap();
    assert_eq!(response.body, b"plain");
}

#[test]
fn what_is_not_well_formed_is_refused_before_anything_is_looked_up() {
    let reach = Reach::of(["h".parse().unwrap()]);
    let refused = |request: Request<'_>| match send(&request, &reach) {
        Err(SendError::Invalid(what)) => what,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("sent"),
    };
    for url in
        ["", "/path", "ftp://h/", "file:///etc/passwd", "https://", "https://u:p@h/", "https://h:x/", "https://h:0/"]
    {
        refused(asked("GET", url, &[], &[]));
    }
    for method in ["get", "CONNECT", "TRACE", "", "GET /x"] {
        refused(asked(method, "https://h/", &[], &[]));
    }
    assert_eq!(refused(asked("GET", "https://h/", &[], b"x")), "a GET request has no body");
    for name in ["Host", "transfer-encoding", "Proxy-Authorization", "a b", "a\r\nb", ""] {
        refused(asked("GET", "https://h/", &[(name.to_owned(), "v".to_owned())], &[]));
    }
    let what = refused(asked("GET", "https://h/", &[("x-token".to_owned(), "s3cret\r\nx: y".to_owned())], &[]));
    assert_eq!(what, "the value of header 'x-token' has characters that are not allowed");
    refused(asked("POST", "https://h/", &[], &vec![0; BODY_MAX + 1]));
}

#[test]
fn a_download_is_the_file_or_says_why_not() {
    let redirect =
        b"HTTP/1.1 302 Found\r\nlocation: https://cdn.example.com/p.wasm?token=s3cret\r\ncontent-length: 0\r\n\r\n";
    let gone = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
    let server =
        Server::tls("localhost", vec![ok("bytes"), Answer::Bytes(redirect.to_vec()), Answer::Bytes(gone.to_vec())]);
    let url = format!("https://localhost:{}/p.wasm?token=s3cret", server.port);
    let fetched = || fetch_trusting(&url, 100, LONG, true, &|| server.authorities());
    assert_eq!(fetched().unwrap(), b"bytes");
    let error = fetched().unwrap_err().to_string();
    assert!(error.contains("redirects to https://cdn.example.com/p.wasm,"), "{error}");
    assert!(!error.contains("s3cret"), "{error}");
    assert!(fetched().unwrap_err().to_string().ends_with("answered 404 and not 200"));
    let private = fetch_trusting(&url, 100, LONG, false, &|| server.authorities()).unwrap_err();
    assert!(matches!(private, SendError::Address { kind: "loopback", .. }), "{private}");
    let plain = fetch_trusting("http://localhost/", 100, LONG, true, &|| server.authorities()).unwrap_err();
    assert_eq!(plain, SendError::Invalid("the URL must begin with https://".into()));
}
