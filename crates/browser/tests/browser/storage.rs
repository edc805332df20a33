//! Storage state: saved from and loaded into contexts.

use crate::harness::{Route, TestContext, browser_test, eval, open, tab_id};
use agbrowse_browser::command::{
    LoadStorage, NewTab, SaveStorage, StorageAction, StorageCommand, StorageReply, TabAction,
    TabCommand,
};
use agbrowse_browser::{Code, Command, Error, Outcome, Reply, Request, StorageState};

pub fn save() -> Command {
    Command::Storage(StorageCommand { action: StorageAction::Save(SaveStorage::default()) })
}

pub fn load(state: StorageState) -> Command {
    let load = LoadStorage { path: None, state: Some(state) };
    Command::Storage(StorageCommand { action: StorageAction::Load(load) })
}

pub fn stored(outcome: Result<Outcome, Error>) -> (StorageReply, Vec<agbrowse_browser::Note>) {
    match outcome {
        Ok(Outcome { reply: Reply::Storage(stored), notes, .. }) => (stored, notes),
        other => panic!("nothing stored: {other:?}"),
    }
}

/// Runs a command in another context of the test.
pub async fn run_in_other_context(t: &TestContext, command: Command) -> Result<Outcome, Error> {
    let context = Some(format!("{}-other", t.context));
    t.browser.run(Request { context, ..Request::new(command) }).await
}

async fn stored_value(t: &TestContext, url: &str) -> String {
    run_in_other_context(t, open(url)).await.unwrap();
    let keeps =
        "document.cookie.split('; ').sort().join('; ') + ' | ' + JSON.stringify(localStorage)";
    run_in_other_context(t, eval(keeps)).await.unwrap().reply.to_string()
}

const ODD: &str = "length=1; \\u2028 \\u0000 \\\"</script> ä😀";

#[test]
fn storage_state_is_copied_between_contexts() {
    browser_test(async |t| {
        t.page("/", "<title>shop</title>").serve("/in", Route::Cookies);
        t.open("/in").await;
        t.open("/").await;
        t.eval("document.cookie = 'here=marzipan; path=/; max-age=9999'; 1").await;
        let keep =
            format!("localStorage.odd = '{ODD}'; localStorage.setItem('length', 'marzipan'); 1");
        t.eval(&keep).await;
        let there = NewTab { url: Some(t.other_url("/")), ..NewTab::default() };
        tab_id(t.run(Command::Tab(TabCommand { action: TabAction::New(there) })).await);
        t.eval("localStorage.name = 'marzipan'; document.cookie = 'there=marzipan; path=/'; 1")
            .await;

        let outcome = t.run(save()).await.unwrap();
        let told_of = format!("{} {}", outcome.reply, serde_json::to_string(&outcome).unwrap());
        assert!(!told_of.contains("marzipan"), "{told_of}");
        let (saved, notes) = stored(Ok(outcome));
        assert!(notes.is_empty(), "{notes:?}");
        assert_eq!((saved.cookies, saved.origins, saved.entries), (3, 2, 3), "{saved}");
        let text = String::from_utf8(saved.data.clone()).unwrap();
        let state = StorageState::parse(&saved.data).unwrap();
        let by_name = |name: &str| state.cookies.iter().find(|it| it.name == name).unwrap();
        assert!(by_name("there").expires < 0.0 && by_name("here").expires > 1e9, "{text}");

        let (loaded, _) = stored(run_in_other_context(&t, load(state.clone())).await);
        assert_eq!((loaded.cookies, loaded.origins, loaded.entries), (3, 2, 3));
        let here = stored_value(&t, &t.url("/")).await;
        assert!(here.starts_with("here=marzipan; seen=yes | "), "{here}");
        assert!(here.contains("\"odd\":") && here.contains("ä😀"), "{here}");
        let same =
            format!("localStorage.getItem('odd') === '{ODD}' && localStorage.getItem('length')");
        assert_eq!(
            run_in_other_context(&t, eval(&same)).await.unwrap().reply.to_string(),
            "marzipan"
        );
        let saved_again = stored(run_in_other_context(&t, save()).await).0;
        let saved_again = StorageState::parse(&saved_again.data).unwrap();
        let domains = |state: &StorageState| {
            let mut all: Vec<_> =
                state.cookies.iter().map(|it| (it.name.clone(), it.domain.clone())).collect();
            all.sort();
            all
        };
        assert_eq!(domains(&saved_again), domains(&state));
        let there = stored_value(&t, &t.other_url("/")).await;
        assert_eq!(there, "there=marzipan | {\"name\":\"marzipan\"}");
        run_in_other_context(&t, Command::Close(Default::default())).await.unwrap();
    });
}

#[test]
fn storage_load_makes_no_network_requests() {
    browser_test(async |t| {
        let text = r#"{"cookies":[],"origins":[
            {"origin":"https://nowhere.invalid","localStorage":[{"name":"a","value":"b"}]}]}"#;
        let state = StorageState::parse(text.as_bytes()).unwrap();
        let (loaded, _) = stored(t.run(load(state)).await);
        assert_eq!((loaded.origins, loaded.entries), (1, 1));
        assert_eq!(loaded.to_string(), "loaded 0 cookies, 1 entry of 1 origin");
    });
}

#[test]
fn invalid_storage_state_changes_nothing() {
    browser_test(async |t| {
        t.page("/", "");
        let good = r#"{"name":"a","value":"marzipan","domain":"127.0.0.1","path":"/"}"#;
        let origin = format!(
            r#"{{"origin":"{}","localStorage":[{{"name":"a","value":"b"}}]}}"#,
            t.url("").replace(&format!("/{}", t.context), "")
        );
        // A `__Secure-` cookie requires https.
        let odd = good.replace("\"a\"", "\"__Secure-a\"");
        let text = format!(r#"{{"cookies":[{good},{odd}],"origins":[{origin}]}}"#);
        let refused = t.run(load(StorageState::parse(text.as_bytes()).unwrap())).await.unwrap_err();
        assert_eq!(refused.code(), Code::StorageInvalid, "{refused}");
        assert!(!format!("{refused:?}").contains("marzipan"), "{refused:?}");
        let mut state = StorageState::parse(
            format!(r#"{{"cookies":[{good}],"origins":[{origin}]}}"#).as_bytes(),
        )
        .unwrap();
        state.origins[0].origin = "file:///etc".into();
        assert_eq!(t.run(load(state)).await.unwrap_err().code(), Code::StorageInvalid);
        t.open("/").await;
        assert_eq!(t.eval("document.cookie + localStorage.length").await, "\"0\"");
    });
}

#[test]
fn oversized_storage_is_reported() {
    browser_test(async |t| {
        let large = "x".repeat(6 << 20);
        let text = format!(
            r#"{{"cookies":[],"origins":[
            {{"origin":"https://a.invalid","localStorage":[{{"name":"a","value":"{large}"}}]}}]}}"#
        );
        let refused = t.run(load(StorageState::parse(text.as_bytes()).unwrap())).await.unwrap_err();
        assert_eq!(refused.code(), Code::StorageNotLoaded);
        assert!(refused.to_string().contains("QuotaExceededError"), "{refused}");
        t.tabs_until(|tabs| tabs.len() == 1).await;
    });
}

#[test]
fn storage_is_saved_despite_stuck_page() {
    browser_test(async |t| {
        t.page("/", "");
        t.open("/").await;
        t.eval("localStorage.a = 'b'; 1").await;
        let there = NewTab { url: Some(t.other_url("/")), ..NewTab::default() };
        let stuck = tab_id(t.run(Command::Tab(TabCommand { action: TabAction::New(there) })).await);
        t.eval("setTimeout(() => { for (;;); }, 0); 1").await;
        let (saved, notes) = stored(t.run(save()).await);
        assert_eq!((saved.origins, saved.entries), (1, 1));
        assert!(notes.iter().any(|note| note.message.contains(&stuck.to_string())), "{notes:?}");
        let missing = Request { context: Some("nobody".into()), ..Request::new(save()) };
        assert_eq!(t.browser.run(missing).await.unwrap_err().code(), Code::BrowserContextNotFound);
    });
}

#[test]
fn page_cannot_forge_storage_origin() {
    browser_test(async |t| {
        t.page(
            "/",
            "<script>localStorage.a = 'b'; origin = 'https://bank.example';
            JSON.stringify = Object.entries = Array.from = () => 'no'</script>",
        );
        t.open("/").await;
        let state = StorageState::parse(&stored(t.run(save()).await).0.data).unwrap();
        assert_eq!(state.origins.len(), 1);
        assert!(t.url("/").starts_with(&state.origins[0].origin), "{}", state.origins[0].origin);
        assert_eq!(state.origins[0].local_storage[0].value.reveal(), "b");
    });
}
