//! TLS: a self-signed key for the apps' hosts, and a listener that shakes hands off the accept loop.

use axum::serve::Listener;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::PublicKeyData;
use sha2::{Digest, Sha256};
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::{self, ServerConfig};
use tokio_rustls::server::TlsStream;

/// A key and its self-signed certificate.
pub(crate) struct Identity {
    /// Base64 of the SHA-256 of the public key information: what Chromium is told to trust.
    pub(crate) key_hash: String,
    /// The certificate in DER form.
    pub(crate) certificate: Vec<u8>,
    config: Arc<ServerConfig>,
}

impl Identity {
    /// Makes a new key, valid for these hosts.
    pub(crate) fn new(hosts: &[&str]) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let names: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
        let made = rcgen::generate_simple_self_signed(names)?;
        let public_key = made.signing_key.subject_public_key_info();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(rustls::DEFAULT_VERSIONS)?
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self {
            key_hash: STANDARD.encode(Sha256::digest(public_key)),
            certificate: made.cert.der().to_vec(),
            config: Arc::new(config),
        })
    }
}

/// Listener whose connections have finished their TLS handshake.
pub(crate) struct TlsListener {
    connections: mpsc::Receiver<(TlsStream<TcpStream>, SocketAddr)>,
    address: SocketAddr,
}

impl TlsListener {
    /// Accepts connections in the background, each handshake in its own task: browsers open connections that never speak.
    pub(crate) fn new(listener: TcpListener, identity: &Identity) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let acceptor = TlsAcceptor::from(Arc::clone(&identity.config));
        let (sender, connections) = mpsc::channel(64);
        tokio::spawn(async move {
            loop {
                let Ok((stream, peer)) = listener.accept().await else {
                    // Out of file descriptors: some will be closed soon.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                };
                _ = stream.set_nodelay(true);
                let acceptor = acceptor.clone();
                let sender = sender.clone();
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        _ = sender.send((stream, peer)).await;
                    }
                });
            }
        });
        Ok(Self { connections, address })
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        match self.connections.recv().await {
            Some(connection) => connection,
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.address)
    }
}
