//! Contexts that go through a proxy, and others that do not.

use crate::harness::{Bench, arrival, bench, eval, open};
use agbrowse_browser::command::{NewTab, Status, TabAction, TabCommand};
use agbrowse_browser::{Code, Command, Error, Outcome, Proxy, Reply, Request};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A proxy that answers every request itself, and knows what it was asked.
struct Toll {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Toll {
    /// One that lets in who says so, or everybody.
    async fn new(login: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let seen = asked.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, login, seen.clone()));
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

async fn answer(mut stream: TcpStream, login: Option<&str>, seen: Arc<Mutex<Vec<String>>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    seen.lock().unwrap().push(head.lines().next().unwrap_or_default().to_owned());
    let is_in =
        login.is_none_or(|login| head.contains(&format!("Proxy-Authorization: Basic {login}\r\n")));
    let said = match is_in {
        true => {
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 21\r\n\
             Connection: close\r\n\r\n<title>toll</title>ok"
        }
        false => {
            "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=\"toll\"\r\nContent-Length: 0\r\n\
             Connection: close\r\n\r\n"
        }
    };
    _ = stream.write_all(said.as_bytes()).await;
}

fn new_tab(proxy: &str) -> Command {
    let proxy: Proxy = proxy.parse().unwrap();
    Command::Tab(TabCommand {
        action: TabAction::New(NewTab { proxy: Some(proxy), ..NewTab::default() }),
    })
}

async fn within(t: &Bench, name: &str, command: Command) -> Result<Outcome, Error> {
    let context = Some(format!("{}-{name}", t.context));
    t.browser.run(Request { context, ..Request::new(command) }).await
}

#[test]
fn proxy_applies_to_one_context() {
    bench(async |t| {
        t.page("/", "").page("/straight", "<title>straight</title>");
        let toll = Toll::new(None).await;
        within(&t, "toll", new_tab(&toll.address)).await.unwrap();
        let title = async |url: &str| arrival(within(&t, "toll", open(url)).await.unwrap()).title;
        assert_eq!(title("http://shop.invalid/").await, "toll");
        assert_eq!(title(&t.url("/")).await, "toll", "this machine is no exception");
        assert!(toll.asked().iter().any(|line| line.starts_with("GET http://shop.invalid/ ")));
        assert_eq!(arrival(t.open("/straight").await).title, "straight");
        assert!(t.run(open("http://shop.invalid/")).await.is_err());
        assert!(toll.asked().iter().all(|line| !line.contains("/straight")));

        let again = within(&t, "toll", new_tab(&toll.address)).await.unwrap_err();
        assert_eq!(again.code(), Code::CommandInvalid, "{again}");
        let usual = t.browser.run(Request::new(new_tab(&toll.address))).await.unwrap_err();
        assert_eq!(usual.code(), Code::CommandInvalid, "{usual}");
        let odd = within(&t, "odd", new_tab("http://me:hunter2@a/b")).await.unwrap_err();
        assert!(odd.code() == Code::CommandInvalid && !format!("{odd:?}").contains("hunter2"));
        let status = t.run(Command::Status(Status {})).await.unwrap();
        let Reply::Status(status) = status.reply else { panic!("no status") };
        let proxies = status.browser.unwrap().proxies;
        let line = &proxies[&format!("{}-toll", t.context)];
        assert_eq!((&*line.server, line.has_auth), (&*format!("http://{}", toll.address), false));
        within(&t, "toll", Command::Close(Default::default())).await.unwrap();
    });
}

#[test]
fn proxy_authentication_is_answered() {
    bench(async |t| {
        // `me` and `hunter2`.
        let toll = Toll::new(Some("bWU6aHVudGVyMg==")).await;
        within(&t, "in", new_tab(&format!("http://me:hunter2@{}", toll.address))).await.unwrap();
        let there = arrival(within(&t, "in", open("http://shop.invalid/")).await.unwrap());
        assert_eq!(there.title, "toll");
        // Frames, workers and pop-ups of the page go the same way.
        let inside = "const frame = document.createElement('iframe'); frame.src = 'http://other.invalid/';
            const came = new Promise(go => frame.onload = go); document.body.append(frame); await came;
            (await (await fetch('/more')).text()).length";
        assert_eq!(within(&t, "in", eval(inside)).await.unwrap().reply.to_string(), "21");
        let asked = toll.asked();
        assert!(asked.iter().any(|line| line.contains("http://other.invalid/")), "{asked:?}");

        within(&t, "out", new_tab(&format!("http://me:wrong@{}", toll.address))).await.unwrap();
        let before = toll.asked().len();
        let refused = within(&t, "out", open("http://shop.invalid/")).await;
        let told = format!("{refused:?}");
        assert!(!told.contains("wrong") && !told.contains("toll"), "{told}");
        assert!(toll.asked().len() < before + 10, "it is not tried for ever");
        let nobody = within(&t, "none", new_tab(&toll.address)).await;
        nobody.unwrap();
        let refused = within(&t, "none", open("http://shop.invalid/")).await;
        assert!(!format!("{refused:?}").contains("toll"), "{refused:?}");
        for name in ["in", "out", "none"] {
            within(&t, name, Command::Close(Default::default())).await.unwrap();
        }
    });
}

#[test]
fn storage_loads_through_authenticated_proxy() {
    bench(async |t| {
        let toll = Toll::new(Some("bWU6aHVudGVyMg==")).await;
        within(&t, "in", new_tab(&format!("http://me:hunter2@{}", toll.address))).await.unwrap();
        let load = r#"{"verb":"storage","action":"load","state":{"cookies":[],"origins":
            [{"origin":"http://shop.invalid","localStorage":[{"name":"a","value":"b"}]}]}}"#;
        within(&t, "in", serde_json::from_str(load).unwrap()).await.unwrap();
        within(&t, "in", open("http://shop.invalid/there")).await.unwrap();
        let asked = toll.asked();
        assert!(asked.iter().take(2).all(|line| line.contains("/there")), "{asked:?}");
        let kept = within(&t, "in", eval("localStorage.a")).await.unwrap();
        assert_eq!(kept.reply.to_string(), "b");
        within(&t, "in", Command::Close(Default::default())).await.unwrap();
    });
}
