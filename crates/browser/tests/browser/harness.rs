//! Test harness for tests with a real browser.
//!
//! `browser_test(async |t| …)` gives a test its own context in the one browser of this process, and a server
//! on two cross-site origins (`127.0.0.1` and `localhost`), so that a frame of one in a
//! page of the other is an out-of-process frame.

use agbrowse_browser::command::{Close, Eval, Json, Open, Tabs};
use agbrowse_browser::launch::{BrowserQuery, Options, find};
use agbrowse_browser::{Access, Browser, Command, Error, Outcome, Reply, Request, TabId};
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// Runs a test in a context of its own. Skips it with a message when there is no Chromium and none is required.
pub fn browser_test<F: Future<Output = ()>>(test: impl FnOnce(TestContext) -> F) {
    if let Err(error) = find(&BrowserQuery::default()) {
        assert!(std::env::var_os("AGBROWSE_REQUIRE_CHROMIUM").is_none(), "{error}");
        eprintln!("skipped: {error}");
        return;
    }
    RUNTIME.block_on(async {
        let bench = TestContext::new().await;
        // The launch of the browser and of the first tab does not count against the deadlines of the test.
        bench.eval("1").await;
        let mut closing = ContextGuard(Some(bench.context.clone()));
        let limit = if std::env::var_os("AGBROWSE_SOAK").is_some() { SOAK_LIMIT } else { LIMIT };
        tokio::time::timeout(limit, test(bench))
            .await
            .expect("the test ends within its time limit");
        closing.now().await.expect("the context is closed");
    });
}

/// Time limit of a test. Tests share a process, so the runner cannot end one that hangs.
const LIMIT: Duration = Duration::from_secs(600);
const SOAK_LIMIT: Duration = Duration::from_secs(7200);

/// Closes the context of a test, also after a failure, because its pages would keep running.
struct ContextGuard(Option<String>);

impl ContextGuard {
    fn now(&mut self) -> impl Future<Output = Result<Outcome, Error>> + use<> {
        let context = self.0.take();
        browser().run(Request { context, ..Request::new(Command::Close(Close {})) })
    }
}

impl Drop for ContextGuard {
    fn drop(&mut self) {
        if self.0.is_some() {
            drop(RUNTIME.spawn(self.now()));
        }
    }
}

/// One runtime for the whole process: the browser's tasks outlive a single test.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime")
});

/// The one browser of this process. It exits with the process.
fn browser() -> &'static Browser {
    static BROWSER: OnceLock<Browser> = OnceLock::new();
    BROWSER.get_or_init(|| Browser::new(Options::default()))
}

/// The response to a path.
#[derive(Clone)]
pub enum Route {
    Html(String),
    Script(String),
    Style(String),
    Status(u16),
    Redirect(String),
    /// A download with a file name.
    File(String, Vec<u8>),
    /// Never responds.
    Hang,
    /// Responds with the received cookies as text, and sets one.
    Cookies,
}

type Routes = Arc<Mutex<HashMap<String, Route>>>;

struct Server {
    routes: Routes,
    main_origin: String,
    other_origin: String,
}

static SERVER: tokio::sync::OnceCell<Server> = tokio::sync::OnceCell::const_new();

async fn server() -> &'static Server {
    SERVER
        .get_or_init(|| async {
            let routes = Routes::default();
            let main_port = listen(routes.clone()).await;
            let other_port = listen(routes.clone()).await;
            Server {
                routes,
                main_origin: format!("http://127.0.0.1:{main_port}"),
                other_origin: format!("http://localhost:{other_port}"),
            }
        })
        .await
}

async fn listen(routes: Routes) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let app = axum::Router::new().fallback(answer).with_state(routes);
    tokio::spawn(async move { axum::serve(listener, app).await });
    port
}

async fn answer(
    State(routes): State<Routes>,
    uri: Uri,
    headers: axum::http::HeaderMap,
) -> Response {
    let route = routes.lock().unwrap().get(uri.path()).cloned();
    match route {
        Some(Route::Html(html)) => {
            ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response()
        }
        Some(Route::Script(js)) => {
            ([(header::CONTENT_TYPE, "text/javascript")], js).into_response()
        }
        Some(Route::Style(css)) => ([(header::CONTENT_TYPE, "text/css")], css).into_response(),
        Some(Route::Status(status)) => {
            let status = StatusCode::from_u16(status).expect("a status");
            (status, [(header::CONTENT_TYPE, "text/html")], format!("<title>{status}</title>"))
                .into_response()
        }
        Some(Route::Redirect(to)) => (StatusCode::FOUND, [(header::LOCATION, to)]).into_response(),
        Some(Route::File(name, bytes)) => {
            let named = format!("attachment; filename=\"{name}\"");
            ([(header::CONTENT_DISPOSITION, named)], bytes).into_response()
        }
        Some(Route::Hang) => std::future::pending().await,
        Some(Route::Cookies) => {
            let sent =
                headers.get(header::COOKIE).and_then(|value| value.to_str().ok()).unwrap_or("none");
            (
                [(header::CONTENT_TYPE, "text/html"), (header::SET_COOKIE, "seen=yes; Path=/")],
                sent.to_owned(),
            )
                .into_response()
        }
        None => (StatusCode::NOT_FOUND, Body::from("not found")).into_response(),
    }
}

/// The context and pages of one test.
pub struct TestContext {
    pub browser: &'static Browser,
    pub context: String,
    server: &'static Server,
}

impl TestContext {
    async fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { browser: browser(), context: format!("test{number}"), server: server().await }
    }

    /// Serves a page at a path of this test, on both origins.
    pub fn page(&self, path: &str, html: impl Into<String>) -> &Self {
        self.serve(path, Route::Html(html.into()))
    }

    /// Serves anything at a path of this test, on both origins.
    pub fn serve(&self, path: &str, route: Route) -> &Self {
        self.server.routes.lock().unwrap().insert(self.path(path), route);
        self
    }

    /// The address of a path of this test.
    pub fn url(&self, path: &str) -> String {
        format!("{}{}", self.server.main_origin, self.path(path))
    }

    /// The same on the cross-site origin.
    pub fn other_url(&self, path: &str) -> String {
        format!("{}{}", self.server.other_origin, self.path(path))
    }

    fn path(&self, path: &str) -> String {
        format!("/{}{path}", self.context)
    }

    /// Runs a command in this test's context.
    pub async fn run(&self, command: Command) -> Result<Outcome, Error> {
        self.send(Request::new(command)).await
    }

    /// Runs a command with a timeout in milliseconds.
    pub async fn run_within(&self, ms: u64, command: Command) -> Result<Outcome, Error> {
        self.send(Request { timeout_ms: Some(ms), ..Request::new(command) }).await
    }

    /// Runs a command on a tab.
    pub async fn run_on(&self, tab: TabId, command: Command) -> Result<Outcome, Error> {
        self.send(Request { tab: Some(tab), ..Request::new(command) }).await
    }

    /// Runs a command on a tab with a timeout in milliseconds.
    pub async fn run_on_within(
        &self,
        tab: TabId,
        ms: u64,
        command: Command,
    ) -> Result<Outcome, Error> {
        self.send(Request { tab: Some(tab), timeout_ms: Some(ms), ..Request::new(command) }).await
    }

    /// Runs a command with restricted access.
    pub async fn run_restricted(
        &self,
        access: &Access,
        command: Command,
    ) -> Result<Outcome, Error> {
        self.send(Request { access: Some(access.clone()), ..Request::new(command) }).await
    }

    async fn send(&self, request: Request) -> Result<Outcome, Error> {
        self.browser.run(Request { context: Some(self.context.clone()), ..request }).await
    }

    /// Opens a path of this test.
    pub async fn open(&self, path: &str) -> Outcome {
        let url = self.url(path);
        self.run(open(&url)).await.unwrap_or_else(|error| panic!("open {url}: {error}"))
    }

    /// Runs a script and returns its result as JSON text.
    pub async fn eval(&self, script: &str) -> String {
        match self.run(eval(script)).await {
            Ok(Outcome { reply: Reply::Eval(result), .. }) => match result.value {
                Some(Json(value)) => value.get().to_owned(),
                None => result.to_string(),
            },
            other => panic!("eval {script}: {other:?}"),
        }
    }

    /// Waits until a script returns `true`. The time limit of the test ends an endless wait.
    pub async fn wait_until(&self, script: &str) {
        while self.eval(script).await != "true" {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The tabs of this test's context.
    pub async fn tabs(&self) -> Vec<agbrowse_browser::command::TabInfo> {
        match self.run(Command::Tabs(Tabs {})).await {
            Ok(Outcome { reply: Reply::Tabs(list), .. }) => list
                .tabs
                .into_iter()
                .filter(|tab| tab.context.as_deref() == Some(&self.context))
                .collect(),
            other => panic!("tabs: {other:?}"),
        }
    }

    /// Waits until the tabs satisfy a condition.
    pub async fn tabs_until(
        &self,
        wanted: impl Fn(&[agbrowse_browser::command::TabInfo]) -> bool,
    ) -> Vec<agbrowse_browser::command::TabInfo> {
        loop {
            let tabs = self.tabs().await;
            if wanted(&tabs) {
                return tabs;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// `open URL`.
pub fn open(url: &str) -> Command {
    Command::Open(Open { url: url.into(), ..Open::default() })
}

/// `eval SCRIPT`.
pub fn eval(script: &str) -> Command {
    Command::Eval(Eval { script: script.into(), ..Eval::default() })
}

/// The arrival of an `open`, `back`, `forward` or `reload`.
pub fn arrival(outcome: Outcome) -> agbrowse_browser::command::Arrival {
    match outcome.reply {
        Reply::Open(arrival)
        | Reply::Back(arrival)
        | Reply::Forward(arrival)
        | Reply::Reload(arrival) => arrival,
        other => panic!("no arrival: {other:?}"),
    }
}

/// A new tab's id.
pub fn tab_id(outcome: Result<Outcome, Error>) -> TabId {
    match outcome {
        Ok(Outcome { reply: Reply::Tab(changed), .. }) => changed.id,
        other => panic!("no tab: {other:?}"),
    }
}

/// A fresh seed, or the one of `AGBROWSE_SEED`; printed, so that a failure can be repeated.
pub fn seed() -> u64 {
    let from_env = std::env::var("AGBROWSE_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = from_env.unwrap_or_else(|| now.map_or(1, |now| now.as_secs()));
    eprintln!("seed: {seed} (repeat with AGBROWSE_SEED={seed})");
    seed
}
