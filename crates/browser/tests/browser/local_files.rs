//! Local file access of a page opened by a restricted caller, through any kind of element or request.

use crate::harness::{browser_test, eval, open};
use agbrowse_browser::command::{Json, SwitchTab, TabAction, TabCommand};
use agbrowse_browser::{Access, Code, Command, Outcome, Phase, Reply};
use std::path::Path;

/// A page that records what it could load, from its own folder and the folder above, and by which means.
const PAGE: &str = "<!doctype html><title>Inside</title><script>
    const told = [], loads = [];
    onmessage = ({ data }) => told.push(data);
    const load = (tag, attribute, url) => loads.push(new Promise((go) => {
      const element = document.createElement(tag);
      element.onload = () => go(told.push(`${tag} ${url}`));
      element.onerror = go;
      if (tag === 'link') element.rel = 'stylesheet';
      element[attribute] = url;
      document.documentElement.append(element);
    }));
    for (const folder of ['', '../']) {
      load('img', 'src', `${folder}picture.svg`);
      load('script', 'src', `${folder}script.js`);
      load('link', 'href', `${folder}sheet.css`);
      loads.push(fetch(`${folder}data.txt`).then(() => told.push(`fetch ${folder}`), () => 0));
    }
    </script><a href=../secret.html>Out</a> <a href=../secret.html target=_blank rel=opener>Beside</a>";

const SECRET: &str =
    "<h1>SECRET</h1><script>(opener || parent).postMessage('SECRET', '*')</script>";

fn click(target: &str) -> Command {
    let command = serde_json::json!({ "verb": "click", "target": target });
    serde_json::from_value(command).unwrap()
}

/// The result of a script, as JSON.
fn result(outcome: Outcome) -> String {
    match outcome.reply {
        Reply::Eval(result) => result.value.map_or_else(String::new, |Json(it)| it.to_string()),
        other => panic!("{other:?}"),
    }
}

fn write_files(top: &Path) -> Access {
    let inside = top.join("in");
    std::fs::create_dir(&inside).unwrap();
    for folder in [top, &inside] {
        let picture = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>";
        let files =
            [("picture.svg", picture), ("script.js", ""), ("sheet.css", ""), ("data.txt", "")];
        for (name, text) in files {
            std::fs::write(folder.join(name), text).unwrap();
        }
    }
    let framed =
        "<!doctype html><script>const told = []; onmessage = ({ data }) => told.push(data)</script>
        <iframe src=../secret.html onload='told.push(1)'></iframe>
        <iframe sandbox=allow-scripts src=../secret.html onload='told.push(2)'></iframe>";
    std::fs::write(inside.join("page.html"), PAGE).unwrap();
    std::fs::write(inside.join("framed.html"), framed).unwrap();
    std::fs::write(top.join("secret.html"), SECRET).unwrap();
    Access { folders: vec![inside], schemes: Vec::new() }
}

#[test]
fn restricted_page_loads_no_outside_files() {
    browser_test(async |t| {
        let folder = tempfile::tempdir().unwrap();
        let top = std::fs::canonicalize(folder.path()).unwrap();
        let access = write_files(&top);
        let url = |name: &str| format!("file://{}", top.join("in").join(name).display());
        t.run_restricted(&access, open(&url("page.html"))).await.unwrap();
        let all = eval("Promise.all(loads).then(() => told.sort().join())");
        let loaded = t.run_restricted(&access, all).await.unwrap();
        assert_eq!(result(loaded), "\"img picture.svg,link sheet.css,script script.js\"");

        // A tab that the page opens is restricted too.
        let popup = click("text=Beside");
        t.run_restricted(&access, popup).await.unwrap();
        let tabs = t.tabs_until(|tabs| tabs.len() == 2).await;
        t.tabs_until(|tabs| tabs.iter().all(|tab| tab.phase == Phase::Loaded)).await;
        let first = tabs.iter().find(|tab| tab.title == "Inside").unwrap().id;
        let result_value = t.run_on(first, eval("told.includes('SECRET')")).await.unwrap();
        assert_eq!(result(result_value), "false");
        let back = TabCommand { action: TabAction::Switch(SwitchTab { id: first }) };
        t.run(Command::Tab(back)).await.unwrap();

        let page = open(&url("page.html"));
        t.run_restricted(&access, page).await.unwrap();
        let out = t.run_restricted(&access, click("text=Out")).await.unwrap_err();
        assert_eq!(out.code(), Code::AccessDenied);
        let refused = t.run_restricted(&access, eval("document.body.innerText")).await;
        assert_eq!(refused.unwrap_err().code(), Code::AccessDenied);

        let framed = t.run_restricted(&access, open(&url("framed.html"))).await;
        assert_eq!(framed.unwrap_err().code(), Code::AccessDenied);
        // An unrestricted caller may inspect the tab; nothing was loaded.
        t.wait_until("told.includes(1) && told.includes(2)").await;
        assert_eq!(t.eval("told.sort().join()").await, "\"1,2\"");

        // The page opened by an unrestricted caller loads everything.
        t.run(open(&url("page.html"))).await.unwrap();
        let outside = "told.includes('img ../picture.svg') && told.includes('script ../script.js')";
        assert_eq!(t.eval(&format!("Promise.all(loads).then(() => {outside})")).await, "true");
    });
}
