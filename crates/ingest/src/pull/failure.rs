//! Reasons why a pull fails.

use std::io;

use ::rtmp::client;
use container::flv;
use net::link::ConnectError;

/// Reason why a connection to a source ended. The texts reveal no secrets.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    // The source.
    /// The source does not use RTMP, or refuses.
    #[error("{0}")]
    Rtmp(#[from] client::Error),
    /// The source does not use HTTP.
    #[error("the source broke HTTP: {0}")]
    Http(#[from] hyper::Error),
    /// The source refuses over HTTP.
    #[error("the source answered {0}")]
    Status(http::StatusCode),
    /// The source redirects too often, or to an invalid address.
    #[error("the source's redirections lead nowhere")]
    Redirection,
    /// The source is on the internet, and redirects to an address of this host's own network.
    #[error("the source redirects to an address that is not the internet's")]
    Inwards,
    /// The source sends broken FLV.
    #[error("{0}")]
    Flv(#[from] flv::ReadError),
    /// The source announces FLV and sends something else.
    #[error("the source calls {0:?} what is no FLV")]
    NotFlv(String),
    /// The source sends a page or a playlist.
    #[error("the source sends {0:?}, which is no stream")]
    NotMedia(String),
    /// The source announces a title interval that cannot be read.
    #[error("the source's icy-metaint is no interval")]
    TitleInterval,
    /// The source ended the stream.
    #[error("the source ended the stream ({0})")]
    Ended(String),
    /// The source closed the connection.
    #[error("the source closed the connection")]
    HungUp,
    /// The source requests a proof of the password again and again.
    #[error("the source does not take the password")]
    Password,
    /// The source did not reply to a request.
    #[error("the source did not answer in time")]
    NoAnswer,

    // The stream, or this server.
    /// Another publisher has the stream.
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
