//! Why a pull failed.

use std::io;

use ::rtmp::client;
use container::flv;
use net::link::ConnectError;

/// What ended a connection to a source. The texts reveal no secrets.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    // The source.
    /// It speaks no RTMP, or refuses.
    #[error("{0}")]
    Rtmp(#[from] client::Error),
    /// It speaks no HTTP.
    #[error("the source broke HTTP: {0}")]
    Http(#[from] hyper::Error),
    /// It refuses over HTTP.
    #[error("the source answered {0}")]
    Status(http::StatusCode),
    /// It redirects too often, or to an address that is none.
    #[error("the source's redirections lead nowhere")]
    Redirection,
    /// It is on the internet, and redirects to an address of this host's own network.
    #[error("the source redirects to an address that is not the internet's")]
    Inwards,
    /// It sends broken FLV.
    #[error("{0}")]
    Flv(#[from] flv::ReadError),
    /// It announces FLV and sends something else.
    #[error("the source calls {0:?} what is no FLV")]
    NotFlv(String),
    /// It sends a page or a playlist.
    #[error("the source sends {0:?}, which is no stream")]
    NotMedia(String),
    /// It sends titles at no interval that can be read.
    #[error("the source's icy-metaint is no interval")]
    TitleInterval,
    /// It ended the stream.
    #[error("the source ended the stream ({0})")]
    Ended(String),
    /// It closed the connection.
    #[error("the source closed the connection")]
    HungUp,
    /// It asks for a proof of the password again and again.
    #[error("the source does not take the password")]
    Password,
    /// It does not answer a request.
    #[error("the source did not answer in time")]
    NoAnswer,

    // The stream, or this server.
    /// Another publisher has it.
    #[error("the stream has another publisher")]
    Busy,
    /// The stream could not be published, was taken over, or its source is silent.
    #[error("{0}")]
    Publish(#[from] crate::Error),

    // The environment.
    /// No connection could be made.
    #[error("{0}")]
    Connect(#[from] ConnectError),
    /// The connection broke.
    #[error("{0}")]
    Io(#[from] io::Error),
}
