//! The web server: pages, scripts and styles of the three apps, and the interface that the pages call.

use crate::answer::AnswerState;
use crate::page::Page;
use crate::records::{AnswerStatus, PostedEvent};
use crate::scenario::{App, Scenario};
use crate::store::{PostedPrompt, Store};
use crate::tls::{Identity, TlsListener};
use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use futures_util::stream;
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Longest time that one request follows an answer. Browsers open six connections to a host: with more tabs than that,
/// each gets its turn. The page asks again from where it is.
const STREAM_TIME: Duration = Duration::from_secs(5);

/// Everything a page may load: itself. Styles in attributes are allowed.
const CONTENT_POLICY: &str =
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'";

type SharedStore = State<Arc<Store>>;

/// Serves until the runtime ends.
pub(crate) async fn serve(
    listener: std::net::TcpListener,
    identity: Identity,
    store: Arc<Store>,
) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let listener = TlsListener::new(listener, &identity)?;
    axum::serve(listener, router(store)).await
}

fn router(store: Arc<Store>) -> Router {
    Router::new()
        .route("/", get(start_page))
        .route("/app", get(start_page))
        .route("/c/{conversation}", get(conversation_page))
        .route("/app/{conversation}", get(conversation_page))
        .route("/chat/{conversation}", get(conversation_page))
        .route("/auth/login", get(sign_in_page))
        .route("/login", get(sign_in_page))
        .route("/sign-in", get(sign_in_page))
        .route("/ServiceLogin", get(sign_in_page))
        .route("/assets/app.js", get(script))
        .route("/assets/style.css", get(style))
        .route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }))
        .route("/api/prompt", post(prompt))
        .route("/api/upload", post(upload))
        .route("/api/event", post(event))
        .route("/api/stop/{answer}", post(stop))
        .route("/api/answer/{answer}", get(answer))
        .route("/api/conversation/{conversation}", get(conversation))
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn(headers))
        .with_state(store)
}

/// Finds the app by the host name and adds the headers of all replies.
async fn headers(mut request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.map(|host| host.split(':').next().unwrap_or(host));
    let Some(app) = host.and_then(App::of_host) else {
        return (StatusCode::MISDIRECTED_REQUEST, "no such app").into_response();
    };
    request.extensions_mut().insert(app);
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let policy = header::HeaderValue::from_static(CONTENT_POLICY);
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    response
}

type RequestedApp = axum::Extension<App>;

async fn start_page(axum::Extension(app): RequestedApp, uri: Uri) -> Response {
    match Scenario::from_query(uri.query().unwrap_or_default()) {
        Ok(scenario) => Html(Page::new(app, &scenario).html(&scenario)).into_response(),
        Err(message) => (StatusCode::BAD_REQUEST, message).into_response(),
    }
}

async fn conversation_page(
    axum::Extension(app): RequestedApp,
    State(store): SharedStore,
    Path(conversation): Path<String>,
    uri: Uri,
) -> Response {
    // A query of its own wins over the scenario that the conversation was begun in.
    let scenario = match uri.query() {
        Some(query) => Scenario::from_query(query),
        None => Ok(store.scenario(&conversation).unwrap_or_default()),
    };
    match scenario {
        Ok(scenario) => Html(Page::new(app, &scenario).html(&scenario)).into_response(),
        Err(message) => (StatusCode::BAD_REQUEST, message).into_response(),
    }
}

async fn sign_in_page(axum::Extension(app): RequestedApp) -> Html<String> {
    Html(Page::sign_in(app))
}

async fn script(axum::Extension(app): RequestedApp, uri: Uri) -> Response {
    match Scenario::from_query(uri.query().unwrap_or_default()) {
        Ok(scenario) => {
            let kind = [(header::CONTENT_TYPE, "text/javascript; charset=utf-8")];
            (kind, Page::new(app, &scenario).script(&scenario)).into_response()
        }
        Err(message) => (StatusCode::BAD_REQUEST, message).into_response(),
    }
}

async fn style(axum::Extension(app): RequestedApp, uri: Uri) -> Response {
    match Scenario::from_query(uri.query().unwrap_or_default()) {
        Ok(scenario) => {
            let kind = [(header::CONTENT_TYPE, "text/css; charset=utf-8")];
            (kind, Page::new(app, &scenario).style()).into_response()
        }
        Err(message) => (StatusCode::BAD_REQUEST, message).into_response(),
    }
}

/// Accepts a prompt. The query is the scenario of the page that sends it.
async fn prompt(
    axum::Extension(app): RequestedApp,
    State(store): SharedStore,
    uri: Uri,
    body: Bytes,
) -> Response {
    let scenario = Scenario::from_query(uri.query().unwrap_or_default());
    match (scenario, serde_json::from_slice::<PostedPrompt>(&body)) {
        (Ok(scenario), Ok(posted)) => json(&store.prompt(app, &scenario, posted)),
        _ => StatusCode::BAD_REQUEST.into_response(),
    }
}

#[derive(Deserialize)]
struct UploadQuery {
    name: String,
}

async fn upload(
    State(store): SharedStore,
    Query(query): Query<UploadQuery>,
    body: Bytes,
) -> Response {
    json(&store.upload(query.name, &body))
}

async fn event(
    axum::Extension(app): RequestedApp,
    State(store): SharedStore,
    body: Bytes,
) -> StatusCode {
    match serde_json::from_slice::<PostedEvent>(&body) {
        Ok(event) => {
            store.event(app, event);
            StatusCode::NO_CONTENT
        }
        Err(_) => StatusCode::BAD_REQUEST,
    }
}

async fn stop(State(store): SharedStore, Path(id): Path<String>) -> StatusCode {
    match store.answer(&id) {
        Some(answer) => {
            answer.stop();
            StatusCode::NO_CONTENT
        }
        None => StatusCode::NOT_FOUND,
    }
}

async fn conversation(
    axum::Extension(app): RequestedApp,
    State(store): SharedStore,
    Path(id): Path<String>,
) -> Response {
    match store.exchanges(app, &id) {
        Some(exchanges) => json(&exchanges),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

#[derive(Deserialize)]
struct AnswerQuery {
    /// Byte offset to go on from.
    #[serde(default)]
    from: usize,
}

/// One line of a streamed answer.
#[derive(Serialize)]
struct AnswerLine<'a> {
    /// Text since the last line.
    text: &'a str,
    /// Offset to go on from.
    next: usize,
    /// Text to show while there is none.
    placeholder: &'a str,
    status: AnswerStatus,
}

/// Streams an answer as JSON lines, until it ends or the request has lasted [`STREAM_TIME`].
async fn answer(
    State(store): SharedStore,
    Path(id): Path<String>,
    Query(query): Query<AnswerQuery>,
) -> Response {
    let Some(answer) = store.answer(&id) else { return StatusCode::NOT_FOUND.into_response() };
    let watch = answer.watch();
    if !watch.borrow().text.is_char_boundary(query.from) {
        return StatusCode::RANGE_NOT_SATISFIABLE.into_response();
    }
    let until = Instant::now() + STREAM_TIME;
    let reader = AnswerReader { watch, from: query.from, until, is_begun: false };
    let lines = stream::unfold(Some(reader), |reader| async move {
        let mut reader = reader?;
        if !reader.has_line().await {
            return None;
        }
        let (line, ended) = reader.line();
        Some((Ok::<_, Infallible>(line), (!ended).then_some(reader)))
    });
    let kind = [(header::CONTENT_TYPE, "application/x-ndjson")];
    (kind, Body::from_stream(lines)).into_response()
}

/// Reader of an answer under way.
struct AnswerReader {
    watch: watch::Receiver<AnswerState>,
    from: usize,
    until: Instant,
    is_begun: bool,
}

impl AnswerReader {
    /// The next line, and whether the answer has ended.
    fn line(&mut self) -> (String, bool) {
        let state = self.watch.borrow_and_update();
        let line = AnswerLine {
            text: &state.text[self.from..],
            next: state.text.len(),
            placeholder: state.placeholder,
            status: state.status,
        };
        self.from = line.next;
        let text = serde_json::to_string(&line).unwrap_or_default() + "\n";
        (text, state.status != AnswerStatus::Streaming)
    }

    /// Waits until there is something to say: at once at first, then after each change. Returns false when the time is
    /// over.
    async fn has_line(&mut self) -> bool {
        if !std::mem::replace(&mut self.is_begun, true) {
            return true;
        }
        matches!(tokio::time::timeout_at(self.until, self.watch.changed()).await, Ok(Ok(())))
    }
}

fn json(value: &impl Serialize) -> Response {
    let mut headers = HeaderMap::new();
    let kind = header::HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, kind);
    match serde_json::to_string(value) {
        Ok(text) => (headers, text).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
