//! The server as a client without a browser sees it.

#![allow(clippy::unwrap_used, reason = "a test may panic, and so may its helper")]

use agbrowse_chatapps::{
    AnswerKind, AnswerStatus, App, ChatApps, Labels, Moment, Scenario, Truth, Variant, answer_to,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, DEFAULT_VERSIONS, RootCertStore};

/// Sends a request and returns the connection.
async fn send(
    apps: &ChatApps,
    host: &'static str,
    method: &str,
    path: &str,
    body: &str,
) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(apps.certificate().to_vec())).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(DEFAULT_VERSIONS)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(("127.0.0.1", apps.port())).await.unwrap();
    let name = ServerName::try_from(host).unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Status and body of a reply.
async fn call(
    apps: &ChatApps,
    host: &'static str,
    method: &str,
    path: &str,
    body: &str,
) -> (u16, String) {
    let mut stream = send(apps, host, method, path, body).await;
    let mut reply = Vec::new();
    _ = stream.read_to_end(&mut reply).await;
    let reply = String::from_utf8(reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let is_chunked = head.contains("transfer-encoding: chunked");
    (status, if is_chunked { dechunk(body) } else { body.to_owned() })
}

fn dechunk(mut body: &str) -> String {
    let mut out = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        out.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    out
}

async fn post_prompt(apps: &ChatApps, scenario: &Scenario, id: &str, files: &[&str]) -> Value {
    let body = json!({
        "clientMessageId": id, "text": "What is new?", "model": "instant", "files": files,
    });
    let path = format!("/api/prompt?{}", scenario.query());
    let (status, reply) = call(apps, "chatgpt.com", "POST", &path, &body.to_string()).await;
    assert_eq!(status, 200, "{reply}");
    serde_json::from_str(&reply).unwrap()
}

/// Waits until the last answer has a status.
async fn wait_for(apps: &ChatApps, status: AnswerStatus) -> String {
    let found = async {
        loop {
            if let Some(answer) = apps.answers().pop().filter(|answer| answer.status == status) {
                return answer.text;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), found).await.expect("the answer's status")
}

#[tokio::test]
async fn every_host_is_served_under_tls() {
    let apps = ChatApps::start().await.unwrap();
    for app in App::ALL {
        for host in app.hosts() {
            for path in ["/", "/assets/app.js", "/assets/style.css", "/login"] {
                let (status, body) = call(&apps, host, "GET", path, "").await;
                assert!(status == 200 && !body.is_empty(), "{host}{path}: {status}");
            }
            assert_eq!(call(&apps, host, "GET", "/?seed=many", "").await.0, 400);
            assert_eq!(call(&apps, host, "GET", "/favicon.ico", "").await.0, 204);
        }
    }
    let args = apps.browser_args().join(" ");
    assert!(args.contains(&format!("MAP grok.com:443 127.0.0.1:{}", apps.port())), "{args}");
}

#[tokio::test]
async fn served_page_is_the_labelled_page() {
    let apps = ChatApps::start().await.unwrap();
    let scenario = Scenario { variant: Variant::Structural, seed: 5, ..Scenario::default() };
    let url = apps.url(App::Gemini, &scenario);
    let path = url.strip_prefix("https://gemini.google.com").unwrap();
    let (_, html) = call(&apps, "gemini.google.com", "GET", path, "").await;
    assert_eq!(html, apps.html(App::Gemini, &scenario));
    let labels: Labels = apps.labels(App::Gemini, &scenario);
    let Some(Truth::Exists { marker, .. }) = labels.get("composer") else { panic!("{labels:?}") };
    assert!(!html.contains(marker.as_str()) && labels.composer.accepts(marker));
    let later = apps.labels_at(App::Gemini, &scenario, Moment::Finished(1));
    assert_ne!(later.copy_button, Truth::Missing);
}

#[tokio::test]
async fn prompt_is_recorded_once_with_its_files() {
    let apps = ChatApps::start().await.unwrap();
    let upload = "/api/upload?name=a%20b.txt";
    let (_, reply) = call(&apps, "chatgpt.com", "POST", upload, "hello").await;
    let file: Value = serde_json::from_str(&reply).unwrap();
    let files = [file["id"].as_str().unwrap()];
    let scenario = Scenario::default();
    let first = post_prompt(&apps, &scenario, "one", &files).await;
    let again = post_prompt(&apps, &scenario, "one", &files).await;
    assert_eq!(first, again);
    let prompts = apps.prompts();
    assert_eq!(prompts.len(), 1);
    let prompt = &prompts[0];
    assert_eq!((prompt.app, prompt.arrivals), (App::ChatGpt, 2));
    assert_eq!((prompt.text.as_str(), prompt.model.as_str()), ("What is new?", "instant"));
    assert_eq!((prompt.files[0].name.as_str(), prompt.files[0].size), ("a b.txt", 5));
    assert!(prompt.files[0].sha256.starts_with("2cf24dba5fb0a30e"));
    assert_eq!(first["path"], format!("/c/{}", prompt.conversation));
    post_prompt(&apps, &scenario, "two", &[]).await;
    assert_eq!(apps.prompts().len(), 2);
    apps.reset_records();
    assert!(apps.prompts().is_empty());
}

#[tokio::test]
async fn answer_goes_on_without_a_client_and_conversation_is_restored() {
    let apps = ChatApps::start().await.unwrap();
    let scenario = Scenario { seed: 3, variant: Variant::Cosmetic, ..Scenario::default() };
    let accepted = post_prompt(&apps, &scenario, "one", &[]).await;
    let expected = answer_to("What is new?", "instant", AnswerKind::Echo);
    assert_eq!(wait_for(&apps, AnswerStatus::Finished).await, expected);

    let conversation = accepted["conversation"].as_str().unwrap();
    let path = format!("/api/conversation/{conversation}");
    let (_, reply) = call(&apps, "chatgpt.com", "GET", &path, "").await;
    let exchanges: Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(exchanges[0]["text"], "What is new?");
    assert_eq!(exchanges[0]["answer"], accepted["answer"]);
    assert_eq!(call(&apps, "grok.com", "GET", &path, "").await.0, 404);
    let path = accepted["path"].as_str().unwrap();
    let (_, page) = call(&apps, "chatgpt.com", "GET", path, "").await;
    assert_eq!(page, apps.html(App::ChatGpt, &scenario), "the scenario stays with it");

    let path = format!("/api/answer/{}?from=10", accepted["answer"].as_str().unwrap());
    let (_, lines) = call(&apps, "chatgpt.com", "GET", &path, "").await;
    let line: Value = serde_json::from_str(lines.trim()).unwrap();
    assert_eq!((&line["text"], &line["status"]), (&json!(expected[10..]), &json!("finished")));
}

#[tokio::test]
async fn answer_streams_while_it_is_written() {
    let apps = ChatApps::start().await.unwrap();
    let scenario = Scenario { token_ms: 2, thinking_ms: 20, ..Scenario::default() };
    let accepted = post_prompt(&apps, &scenario, "one", &[]).await;
    let path = format!("/api/answer/{}", accepted["answer"].as_str().unwrap());
    let (_, lines) = call(&apps, "chatgpt.com", "GET", &path, "").await;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.len() > 10, "{} lines", lines.len());
    assert!(lines.iter().any(|line| line["placeholder"] == "Searching…"));
    let text: String = lines.iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert_eq!(text, answer_to("What is new?", "instant", AnswerKind::Echo));
}

#[tokio::test]
async fn answer_is_stopped_and_error_ends_one() {
    let apps = ChatApps::start().await.unwrap();
    let never = Scenario { answer: AnswerKind::Never, ..Scenario::default() };
    let accepted = post_prompt(&apps, &never, "one", &[]).await;
    let path = format!("/api/stop/{}", accepted["answer"].as_str().unwrap());
    assert_eq!(call(&apps, "chatgpt.com", "POST", &path, "").await.0, 204);
    wait_for(&apps, AnswerStatus::Stopped).await;
    let error = Scenario { answer: AnswerKind::Error, ..Scenario::default() };
    post_prompt(&apps, &error, "two", &[]).await;
    assert!(!wait_for(&apps, AnswerStatus::Error).await.is_empty());
}

#[tokio::test]
async fn events_are_recorded() {
    let apps = ChatApps::start().await.unwrap();
    for event in [
        json!({"kind": "click", "control": "send", "trusted": true, "path": "/"}),
        json!({"kind": "menu-opened", "detail": "modelMenu", "path": "/"}),
    ] {
        let reply = call(&apps, "grok.com", "POST", "/api/event", &event.to_string()).await;
        assert_eq!(reply.0, 204);
    }
    let submits = apps.submit_events();
    assert!(submits.len() == 1 && submits[0].trusted && submits[0].control == "send");
    assert_eq!(apps.all_events()[0].detail, "modelMenu");
}

#[tokio::test]
async fn dropped_server_is_stopped() {
    let apps = ChatApps::start().await.unwrap();
    let port = apps.port();
    let mut open = send(&apps, "grok.com", "GET", "/", "").await;
    drop(apps);
    let closed = async {
        _ = open.read_to_end(&mut Vec::new()).await;
        while TcpStream::connect(("127.0.0.1", port)).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), closed).await.expect("closed connections");
}
