//! Which requests are let in: those of programs on this machine that bring the token.
//!
//! It must never believe a name: a page of a browser reaches this machine under any name its owner likes.

use std::net::IpAddr;

use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use hyper::http::uri::Authority;
use hyper::{Method, Uri};

use super::refusal::Refusal;
use super::token::Token;

/// Lets a request in, or says why not, the first reason first.
pub(super) fn let_in(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    path: &str,
    token: Option<&Token>,
) -> Result<(), Refusal> {
    from_here(uri, headers)?;
    if uri.path() != path {
        return Err(Refusal::NoPath);
    }
    if ![Method::GET, Method::POST, Method::DELETE].contains(method) {
        return Err(Refusal::Method);
    }
    match token {
        Some(token) if !brings(headers, token) => Err(Refusal::Token),
        _ => Ok(()),
    }
}

fn from_here(uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
    let host = only(headers, &HOST)?.ok_or(Refusal::Stranger)?;
    let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    if !host.is_some_and(|host| is_here(&host)) {
        return Err(Refusal::Stranger);
    }
    if uri.authority().is_some_and(|named| !is_here(named)) {
        return Err(Refusal::Stranger);
    }
    let Some(origin) = only(headers, &ORIGIN)? else { return Ok(()) };
    let origin = origin.to_str().ok().and_then(|origin| origin.parse::<Uri>().ok()).ok_or(Refusal::Stranger)?;
    let of_a_page = matches!(origin.scheme_str(), Some("http" | "https"));
    if of_a_page && origin.authority().is_some_and(is_here) { Ok(()) } else { Err(Refusal::Stranger) }
}

/// The value of a header that stands there once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a HeaderValue>, Refusal> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (value, None) => Ok(value),
        (_, Some(_)) => Err(Refusal::Stranger),
    }
}

/// Whether it is `localhost` or an address of this machine only. An address cannot be made to lead elsewhere, a name can.
fn is_here(named: &Authority) -> bool {
    if named.as_str().contains('@') {
        return false;
    }
    let host = named.host();
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn brings(headers: &HeaderMap, token: &Token) -> bool {
    let Ok(Some(value)) = only(headers, &AUTHORIZATION) else { return false };
    let Some((scheme, brought)) = split(value.as_bytes()) else { return false };
    scheme.eq_ignore_ascii_case(b"bearer") && token.is(brought.trim_ascii())
}

fn split(value: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = value.iter().position(|byte| *byte == b' ')?;
    Some((&value[..at], &value[at + 1..]))
}

/// Whether the client takes this type. One that says nothing takes anything.
pub(super) fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let mut listed = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
    if listed.peek().is_none() {
        return !headers.contains_key(ACCEPT);
    }
    let group = wanted.split('/').next().unwrap_or_default();
    listed.flat_map(|value| value.split(',')).any(|entry| {
        let name = entry.split(';').next().unwrap_or_default().trim();
        name == "*/*"
            || name.eq_ignore_ascii_case(wanted)
            || name.strip_suffix("/*").is_some_and(|named| named.eq_ignore_ascii_case(group))
    })
}

/// Whether the body is said to be JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(|value| {
        value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).fold(
            HeaderMap::new(),
            |mut map, (name, value)| {
                map.append(name, value);
                map
            },
        )
    }

    fn said(pairs: &[(&'static str, &str)], token: Option<&Token>) -> Result<(), Refusal> {
        let_in(&Method::POST, &"/mcp".parse().unwrap(), &headers(pairs), "/mcp", token)
    }

    #[test]
    fn only_this_machine_is_meant() {
        for host in ["localhost", "LocalHost:80", "127.0.0.1:8080", "127.0.0.9", "[::1]", "[::1]:9"] {
            assert_eq!(said(&[("host", host)], None), Ok(()), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "localhost@evil.example",
            "me@localhost",
            "127.0.0.1.evil.example",
            "0.0.0.0",
            "10.0.0.1",
            "[::]",
            "",
            "2130706433",
        ] {
            assert_eq!(said(&[("host", host)], None), Err(Refusal::Stranger), "{host}");
        }
        assert_eq!(said(&[], None), Err(Refusal::Stranger));
        assert_eq!(said(&[("host", "localhost"), ("host", "evil.example")], None), Err(Refusal::Stranger));
        let uri = "http://evil.example/mcp".parse().unwrap();
        let refused = let_in(&Method::GET, &uri, &headers(&[("host", "localhost")]), "/mcp", None);
        assert_eq!(refused, Err(Refusal::Stranger));
    }

    #[test]
    fn only_pages_of_this_machine_may_call() {
        for origin in ["http://localhost:5173", "https://127.0.0.1", "http://[::1]:3000"] {
            assert_eq!(said(&[("host", "localhost"), ("origin", origin)], None), Ok(()), "{origin}");
        }
        for origin in ["http://evil.example", "null", "", "file://", "localhost", "http://localhost.evil.example"] {
            let refused = said(&[("host", "localhost"), ("origin", origin)], None);
            assert_eq!(refused, Err(Refusal::Stranger), "{origin}");
        }
    }

    #[test]
    fn nobody_calls_without_the_token() {
        let token = Token::random().unwrap();
        let right = format!("Bearer {}", token.reveal());
        let lower = format!("bearer  {}", token.reveal());
        for value in [&right, &lower] {
            assert_eq!(said(&[("host", "localhost"), ("authorization", value)], Some(&token)), Ok(()));
        }
        let shorter = &right[..right.len() - 1];
        for value in ["Bearer", "Bearer ", shorter, &format!("Basic {}", token.reveal()), token.reveal()] {
            let refused = said(&[("host", "localhost"), ("authorization", value)], Some(&token));
            assert_eq!(refused, Err(Refusal::Token), "{value}");
        }
        assert_eq!(said(&[("host", "localhost")], Some(&token)), Err(Refusal::Token));
        let twice = [("host", "localhost"), ("authorization", right.as_str()), ("authorization", right.as_str())];
        assert_eq!(said(&twice, Some(&token)), Err(Refusal::Token));
    }

    #[test]
    fn what_a_client_takes_is_read_from_its_list() {
        let takes = |value: &str, wanted| accepts(&headers(&[("accept", value)]), wanted);
        assert!(takes("application/json, text/event-stream", "text/event-stream"));
        assert!(takes("text/*;q=0.5", "text/event-stream") && takes("*/*", "application/json"));
        assert!(!takes("application/json", "text/event-stream") && !takes("text/event-stream2", "text/event-stream"));
        assert!(accepts(&HeaderMap::new(), "application/json"));
        assert!(is_json(&headers(&[("content-type", "application/json; charset=utf-8")])));
        assert!(!is_json(&headers(&[("content-type", "text/plain")])) && !is_json(&HeaderMap::new()));
    }
}
