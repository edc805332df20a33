//! Serves the apps to try them by hand. Prints the browser's arguments, then the records after each line of input.

#![allow(clippy::print_stdout, reason = "made to be read")]

use agbrowse_chatapps::{App, ChatApps, Scenario};
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
        // `labels <app> <query>` prints the truth about a page at its start and after one exchange.
        let line = line?;
        if let Some((host, query)) =
            line.strip_prefix("labels ").and_then(|rest| rest.split_once(' '))
            && let (Some(app), Ok(scenario)) = (App::of_host(host), Scenario::from_query(query))
        {
            println!("{:#?}", apps.labels(app, &scenario));
            for moment in
                [agbrowse_chatapps::Moment::Streaming(0), agbrowse_chatapps::Moment::Finished(1)]
            {
                println!("{moment:?} {:#?}", apps.labels_at(app, &scenario, moment));
            }
            continue;
        }
        println!("{:#?}\n{:#?}\n{:#?}", apps.prompts(), apps.submit_events(), apps.all_events());
    }
    Ok(())
}
