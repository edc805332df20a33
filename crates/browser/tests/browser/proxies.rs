//! Contexts with a proxy, and contexts without one.

use crate::harness::{TestContext, arrival, browser_test, eval, open};
use agbrowse_browser::command::{NewTab, Status, TabAction, TabCommand};
use agbrowse_browser::{Code, Command, Error, Outcome, Proxy, Reply, Request};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A proxy that answers every request itself and logs it.
struct FakeProxy {
    address: String,
    log: Arc<Mutex<Vec<String>>>,
}

impl FakeProxy {
    /// Starts a proxy, with or without authentication.
    async fn new(login: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let log = Arc::<Mutex<Vec<String>>>::default();
        let shared = log.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, login, shared.clone()));
            }
        });
        Self { address, log }
    }

    fn requests(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

async fn answer(mut stream: TcpStream, login: Option<&str>, log: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    log.lock().unwrap().push(head.lines().next().unwrap_or_default().to_owned());
    let is_allowed =
        login.is_none_or(|login| head.contains(&format!("Proxy-Authorization: Basic {login}\r\n")));
    let response = match is_allowed {
        true => {
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 21\r\n\
             Connection: close\r\n\r\n<title>toll</title>ok"
        }
        false => {
            "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=\"toll\"\r\nContent-Length: 0\r\n\
             Connection: close\r\n\r\n"
        }
    };
    _ = stream.write_all(response.as_bytes()).await;
}

fn new_tab(proxy: &str) -> Command {
    let proxy: Proxy = proxy.parse().unwrap();
    Command::Tab(TabCommand {
        action: TabAction::New(NewTab { proxy: Some(proxy), ..NewTab::default() }),
    })
}

async fn run_in_context(t: &TestContext, name: &str, command: Command) -> Result<Outcome, Error> {
    let context = Some(format!("{}-{name}", t.context));
    t.browser.run(Request { context, ..Request::new(command) }).await
}

#[test]
fn proxy_applies_to_one_context() {
    browser_test(async |t| {
        t.page("/", "").page("/straight", "<title>straight</title>");
        let proxy = FakeProxy::new(None).await;
        run_in_context(&t, "toll", new_tab(&proxy.address)).await.unwrap();
        let title =
            async |url: &str| arrival(run_in_context(&t, "toll", open(url)).await.unwrap()).title;
        assert_eq!(title("http://shop.invalid/").await, "toll");
        assert_eq!(title(&t.url("/")).await, "toll", "this machine is no exception");
        assert!(proxy.requests().iter().any(|line| line.starts_with("GET http://shop.invalid/ ")));
        assert_eq!(arrival(t.open("/straight").await).title, "straight");
        assert!(t.run(open("http://shop.invalid/")).await.is_err());
        assert!(proxy.requests().iter().all(|line| !line.contains("/straight")));

        let again = run_in_context(&t, "toll", new_tab(&proxy.address)).await.unwrap_err();
        assert_eq!(again.code(), Code::CommandInvalid, "{again}");
        let usual = t.browser.run(Request::new(new_tab(&proxy.address))).await.unwrap_err();
        assert_eq!(usual.code(), Code::CommandInvalid, "{usual}");
        let odd = run_in_context(&t, "odd", new_tab("http://me:hunter2@a/b")).await.unwrap_err();
        assert!(odd.code() == Code::CommandInvalid && !format!("{odd:?}").contains("hunter2"));
        let status = t.run(Command::Status(Status {})).await.unwrap();
        let Reply::Status(status) = status.reply else { panic!("no status") };
        let proxies = status.browser.unwrap().proxies;
        let line = &proxies[&format!("{}-toll", t.context)];
        assert_eq!((&*line.server, line.has_auth), (&*format!("http://{}", proxy.address), false));
        run_in_context(&t, "toll", Command::Close(Default::default())).await.unwrap();
    });
}

#[test]
fn proxy_authentication_is_answered() {
    browser_test(async |t| {
        // `me` and `hunter2`.
        let proxy = FakeProxy::new(Some("bWU6aHVudGVyMg==")).await;
        run_in_context(&t, "in", new_tab(&format!("http://me:hunter2@{}", proxy.address)))
            .await
            .unwrap();
        let there = arrival(run_in_context(&t, "in", open("http://shop.invalid/")).await.unwrap());
        assert_eq!(there.title, "toll");
        // Frames, workers and pop-ups of the page use the proxy, too.
        let inside = "const frame = document.createElement('iframe'); frame.src = 'http://other.invalid/';
            const came = new Promise(go => frame.onload = go); document.body.append(frame); await came;
            (await (await fetch('/more')).text()).length";
        assert_eq!(run_in_context(&t, "in", eval(inside)).await.unwrap().reply.to_string(), "21");
        let requests = proxy.requests();
        assert!(requests.iter().any(|line| line.contains("http://other.invalid/")), "{requests:?}");

        run_in_context(&t, "out", new_tab(&format!("http://me:wrong@{}", proxy.address)))
            .await
            .unwrap();
        let before = proxy.requests().len();
        let refused = run_in_context(&t, "out", open("http://shop.invalid/")).await;
        let message = format!("{refused:?}");
        assert!(!message.contains("wrong") && !message.contains("toll"), "{message}");
        assert!(proxy.requests().len() < before + 10, "it is not tried for ever");
        let result = run_in_context(&t, "none", new_tab(&proxy.address)).await;
        result.unwrap();
        let refused = run_in_context(&t, "none", open("http://shop.invalid/")).await;
        assert!(!format!("{refused:?}").contains("toll"), "{refused:?}");
        for name in ["in", "out", "none"] {
            run_in_context(&t, name, Command::Close(Default::default())).await.unwrap();
        }
    });
}

#[test]
fn storage_loads_through_authenticated_proxy() {
    browser_test(async |t| {
        let proxy = FakeProxy::new(Some("bWU6aHVudGVyMg==")).await;
        run_in_context(&t, "in", new_tab(&format!("http://me:hunter2@{}", proxy.address)))
            .await
            .unwrap();
        let load = r#"{"verb":"storage","action":"load","state":{"cookies":[],"origins":
            [{"origin":"http://shop.invalid","localStorage":[{"name":"a","value":"b"}]}]}}"#;
        run_in_context(&t, "in", serde_json::from_str(load).unwrap()).await.unwrap();
        run_in_context(&t, "in", open("http://shop.invalid/there")).await.unwrap();
        let requests = proxy.requests();
        assert!(requests.iter().take(2).all(|line| line.contains("/there")), "{requests:?}");
        let stored = run_in_context(&t, "in", eval("localStorage.a")).await.unwrap();
        assert_eq!(stored.reply.to_string(), "b");
        run_in_context(&t, "in", Command::Close(Default::default())).await.unwrap();
    });
}
