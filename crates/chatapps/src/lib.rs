//! Three small chat web apps that behave like ChatGPT, Gemini and Grok, for tests and the demo.
//!
//! One TLS server on loopback serves all three under their real host names; the browser is launched with
//! [`ChatApps::browser_args`], which map those hosts to it and every other host to nowhere. A [`Scenario`] in the query
//! of the URL says how the app behaves and how its page deviates from the baseline.
//!
//! The page is described as a tree, deviated by a seeded mutator and rendered; the truth about
//! it ([`Labels`]) is computed from the same tree and never sent to the browser.

mod answer;
mod apps;
mod element;
mod labels;
mod mutate;
mod page;
mod records;
mod rng;
mod scenario;
mod server;
mod store;
mod tls;

pub use answer::answer_to;
pub use labels::{Labels, Moment, Truth};
pub use records::{AnswerRecord, AnswerStatus, PageEvent, Prompt, SentFile, SubmitEvent};
pub use scenario::{AnswerKind, App, Composer, Interstitial, Models, Scenario, Variant};

use std::io;
use std::sync::Arc;
use store::Store;
use tls::Identity;
use tokio::runtime::Runtime;

/// A running server of the three apps. Dropping it stops it.
///
/// It runs on a thread of its own, so one server may be shared by tests that each have their own async runtime.
#[derive(Debug)]
pub struct ChatApps {
    port: u16,
    key_hash: String,
    certificate: Vec<u8>,
    store: Arc<Store>,
    /// Present until dropped.
    runtime: Option<Runtime>,
}

impl ChatApps {
    /// Starts the server on a free port of 127.0.0.1, with a new self-signed key.
    ///
    /// # Errors
    /// When no port can be bound or no key can be made.
    pub async fn start() -> io::Result<Self> {
        let identity = Identity::new(&scenario::hosts()).map_err(io::Error::other)?;
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("chatapps")
            .enable_all()
            .build()?;
        let store = Arc::new(Store::default());
        let (key_hash, certificate) = (identity.key_hash.clone(), identity.certificate.clone());
        runtime.spawn(server::serve(listener, identity, Arc::clone(&store)));
        Ok(Self { port, key_hash, certificate, store, runtime: Some(runtime) })
    }

    /// Port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Self-signed certificate in DER form, for clients other than Chromium.
    #[must_use]
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// Arguments for Chromium: the apps' hosts lead to this server, its key is trusted, every other host except loopback
    /// does not resolve.
    #[must_use]
    pub fn browser_args(&self) -> Vec<String> {
        let port = self.port;
        let hosts: String = scenario::hosts()
            .iter()
            .map(|host| format!("MAP {host}:443 127.0.0.1:{port}, "))
            .collect();
        let others = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE [::1]";
        vec![
            format!("--host-resolver-rules={hosts}{others}"),
            format!("--ignore-certificate-errors-spki-list={}", self.key_hash),
            "--disable-quic".to_owned(),
        ]
    }

    /// URL of an app's first page in a scenario.
    #[must_use]
    pub fn url(&self, app: App, scenario: &Scenario) -> String {
        let query = scenario.query();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("https://{}{}{mark}{query}", app.host(), app.start_path())
    }

    /// HTML of an app's first page in a scenario, as it is served.
    #[must_use]
    pub fn html(&self, app: App, scenario: &Scenario) -> String {
        page::Page::new(app, scenario).html(scenario)
    }

    /// The truth about an app's first page, before anything was sent.
    #[must_use]
    pub fn labels(&self, app: App, scenario: &Scenario) -> Labels {
        self.labels_at(app, scenario, Moment::Start)
    }

    /// The truth about the page of a conversation at a later moment. Menus that are open and chips of files change none
    /// of its paths.
    #[must_use]
    pub fn labels_at(&self, app: App, scenario: &Scenario, moment: Moment) -> Labels {
        page::Page::new(app, scenario).labels(moment)
    }

    /// Every prompt that reached the server, in order of arrival.
    #[must_use]
    pub fn prompts(&self) -> Vec<Prompt> {
        self.store.prompts()
    }

    /// Every answer, in order of its prompt's arrival: the text so far and how it stands.
    #[must_use]
    pub fn answers(&self) -> Vec<AnswerRecord> {
        self.store.answers()
    }

    /// Every event that could submit: clicks and submits that reached a submit control, Enter in a text box.
    #[must_use]
    pub fn submit_events(&self) -> Vec<SubmitEvent> {
        self.store.submit_events()
    }

    /// Every other event that the pages posted: menus, models, tools, files, copies, decoys.
    #[must_use]
    pub fn all_events(&self) -> Vec<PageEvent> {
        self.store.page_events()
    }

    /// Forgets prompts, answers' records and events. Conversations stay.
    pub fn reset_records(&self) {
        self.store.reset_records();
    }
}

impl Drop for ChatApps {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // The ordinary drop waits for its threads, which panics inside another runtime.
            runtime.shutdown_background();
        }
    }
}
