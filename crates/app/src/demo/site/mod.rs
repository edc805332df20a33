//! The demo shop: a small web shop on loopback, shipped in the binary.
//!
//! `catalogue` has the products, `state` the sessions and orders, `pages` the page rendering (the HTML is in
//! `crates/app/site`), `routes` the HTTP routes and `visitor` the session lookup. It needs no network, and the same
//! sequence of requests gets the same pages.

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
    /// Origin of the shop: `http://127.0.0.1:PORT`.
    pub origin: String,
    /// Origin of the card form in the checkout: `http://localhost:PORT`, on another port.
    pub frame_origin: String,
    _servers: JoinSet<io::Result<()>>,
}

impl Site {
    /// Starts the shop on two free loopback ports.
    pub async fn serve() -> io::Result<Site> {
        let shop = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let frame = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let origin = format!("http://{}", shop.local_addr()?);
        // Another port alone is another origin but the same site, and would share the shop's process. A host name
        // instead of the address makes it another site, so the frame is out-of-process.
        let frame_origin = format!("http://localhost:{}", frame.local_addr()?.port());

        let mut servers = JoinSet::new();
        servers.spawn(axum::serve(shop, routes::shop(&frame_origin)).into_future());
        servers.spawn(axum::serve(frame, routes::card_frame(&origin)).into_future());
        Ok(Site { origin, frame_origin, _servers: servers })
    }
}
