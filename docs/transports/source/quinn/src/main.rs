//! A download over QUIC: `quinn listen ADDR CONTROL`, or `quinn fetch ADDR SECONDS`.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use quinn::congestion::{BbrConfig, CubicConfig};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig};
use rustls::DigitallySignedStruct as Signed;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Takes every certificate.
#[derive(Debug)]
struct Trusting;

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &Signed,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &Signed,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        default_provider().signature_verification_algorithms.supported_schemes()
    }
}

/// Sends each connection as much as it takes.
async fn serve(address: &str, control: &str) -> Outcome<()> {
    let made = rcgen::generate_simple_self_signed(vec!["server".into()])?;
    let key = PrivatePkcs8KeyDer::from(made.key_pair.serialize_der());
    let mut config = ServerConfig::with_single_cert(vec![made.cert.into()], key.into())?;
    let mut transport = TransportConfig::default();
    if control == "bbr" {
        transport.congestion_controller_factory(Arc::new(BbrConfig::default()));
    } else {
        transport.congestion_controller_factory(Arc::new(CubicConfig::default()));
    }
    config.transport_config(Arc::new(transport));
    let endpoint = Endpoint::server(config, address.parse()?)?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            let connection = incoming.await?;
            let (mut sender, _receiver) = connection.accept_bi().await?;
            let block = vec![0u8; 1 << 16];
            while sender.write_all(&block).await.is_ok() {}
            Outcome::Ok(())
        });
    }
    Ok(())
}

/// Prints a line of JSON per 200 ms: when, and Mbit/s since the one before.
async fn fetch(address: &str, seconds: f64) -> Outcome<()> {
    let tls = rustls::ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Trusting))
        .with_no_client_auth();
    let mut endpoint = Endpoint::client("0.0.0.0:0".parse()?)?;
    let config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    endpoint.set_default_client_config(config);
    let begin = Instant::now();
    let connection = endpoint.connect(address.parse()?, "server")?.await?;
    let (mut sender, mut receiver) = connection.open_bi().await?;
    sender.write_all(b"go").await?;
    let end = begin + Duration::from_secs_f64(seconds);
    let (mut last, mut bytes, mut total) = (begin, 0, 0);
    while let Ok(chunk) = tokio::time::timeout_at(end.into(), receiver.read_chunk(1 << 16, true)).await {
        let count = chunk?.ok_or("the server ended")?.bytes.len();
        bytes += count;
        total += count;
        let now = Instant::now();
        if now - last >= Duration::from_millis(200) {
            let rate = bytes as f64 * 8e-6 / (now - last).as_secs_f64();
            let time = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64();
            println!("{{\"time_s\": {time:.6}, \"mbit_s\": {rate:.4}}}");
            (last, bytes) = (now, 0);
        }
    }
    println!("{{\"bytes\": {total}}}");
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
}

#[tokio::main(flavor = "multi_thread", worker_threads = 4)]
async fn main() -> Outcome<()> {
    let _ = default_provider().install_default();
    let words: Vec<String> = std::env::args().collect();
    match words[1].as_str() {
        "listen" => serve(&words[2], &words[3]).await,
        _ => fetch(&words[2], words[3].parse()?).await,
    }
}
