//! The demo shop: a small web shop on loopback for showing and trying the browser, shipped in the binary.
//!
//! `catalogue` is what it sells, `state` what it remembers, `pages` what it shows (the markup itself is in
//! `crates/app/site`), `routes` what it answers to and `visitor` whom. It asks nothing of the network, and
//! the same walk through it sees the same pages.

/// A file of the site, by its path there.
macro_rules! site {
    ($path:literal) => {
        include_str!(concat!("../../../site/", $path))
    };
}

mod catalogue;
mod pages;
mod routes;
mod state;
mod template;
mod visitor;

pub(super) use routes::PASSWORD;

use std::io;
use std::net::Ipv4Addr;

use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// A running shop. Dropping it stops both of its servers.
#[derive(Debug)]
pub struct Site {
    /// Where the shop is: `http://127.0.0.1:PORT`.
    pub origin: String,
    /// Where the card form in the checkout comes from: `http://localhost:PORT`, on a port of its own.
    pub frame_origin: String,
    _servers: JoinSet<io::Result<()>>,
}

impl Site {
    /// Start the shop on two free loopback ports.
    pub async fn serve() -> io::Result<Site> {
        let shop = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let frame = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let origin = format!("http://{}", shop.local_addr()?);
        // Another port alone is another origin but the same site, and would share the shop's process. By
        // name instead of by address it is another site, so the frame is a real out-of-process one.
        let frame_origin = format!("http://localhost:{}", frame.local_addr()?.port());

        let mut servers = JoinSet::new();
        servers.spawn(axum::serve(shop, routes::shop(&frame_origin)).into_future());
        servers.spawn(axum::serve(frame, routes::card_frame(&origin)).into_future());
        Ok(Site { origin, frame_origin, _servers: servers })
    }
}
