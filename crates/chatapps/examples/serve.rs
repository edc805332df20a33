//! Serves the apps to try them by hand. Prints the browser's arguments, then the records after each line of input.

#![allow(clippy::print_stdout, reason = "made to be read")]

use agbrowse_chatapps::{App, ChatApps, Moment, Scenario};
use std::io::BufRead;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let apps = ChatApps::start().await?;
    for argument in apps.browser_args() {
        println!("{argument}");
    }
    for app in App::ALL {
        println!("{}", apps.url(app, &Scenario::default()));
    }
    for line in std::io::stdin().lock().lines() {
        // `labels HOST QUERY` prints the truth about a page: at its start, while the first answer is streamed and
        // afterwards.
        let line = line?;
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        let ["labels", host, query] = words[..] else {
            println!("{:#?}", apps.prompts());
            println!("{:#?}\n{:#?}", apps.submit_events(), apps.all_events());
            continue;
        };
        if let (Some(app), Ok(scenario)) = (App::of_host(host), Scenario::from_query(query)) {
            for moment in [Moment::Start, Moment::Streaming(0), Moment::Finished(1)] {
                let labels = apps.labels_at(app, &scenario, moment);
                println!("{}", serde_json::to_string(&labels)?);
            }
        }
    }
    Ok(())
}
