//! Access log entry of a request, kept until the outcome of the request is known.

use std::net::SocketAddr;
use std::time::{Instant, SystemTime};

use http1::{Head, Status, Version};
use reports::access::{AccessLine, request_line};

use crate::front_door::FrontDoor;
use crate::page::Page;
use crate::reply::Reply;

/// Request data for the access log; call one of the `log` methods once the outcome is known.
pub(super) struct Asked {
    pub(super) peer: SocketAddr,
    pub(super) version: Version,
    since: SystemTime,
    began: Instant,
    request: String,
    referer: String,
    agent: String,
}

impl Asked {
    pub(super) fn by(head: &Head, peer: SocketAddr) -> Self {
        let header = |name| head.header(name).unwrap_or_default().to_owned();
        let target = String::from_utf8_lossy(head.target());
        Self {
            version: head.version(),
            request: request_line(head.method(), &target, head.version().label()),
            referer: header("referer"),
            agent: header("user-agent"),
            ..Self::nothing(peer)
        }
    }

    /// Creates the entry of a page request. Session names are kept out of the log.
    pub(super) fn of_page(page: &Page, head: &Head, peer: SocketAddr) -> Self {
        let asked = Self::by(head, peer);
        match page {
            Page::Rtc(address) => {
                let (method, version) = (head.method(), head.version().label());
                Self {
                    request: request_line(method, &address.loggable(), version),
                    ..asked
                }
            }
            _ => asked,
        }
    }

    /// Creates the entry for bytes that are not a valid request.
    pub(super) fn nothing(peer: SocketAddr) -> Self {
        Self {
            peer,
            version: Version::Http11,
            since: SystemTime::now(),
            began: Instant::now(),
            request: String::new(),
            referer: String::new(),
            agent: String::new(),
        }
    }

    /// Writes the line; `bytes` is the length of the reply's body.
    pub(super) fn log(&self, front: &FrontDoor, status: Status, bytes: usize) {
        self.log_code(front, status.code(), bytes);
    }

    /// Writes the line with status and length read from a complete reply of ours.
    pub(super) fn log_answer(&self, front: &FrontDoor, answer: &[u8]) {
        let code = answer.split(|byte| *byte == b' ').nth(1);
        let code = code.and_then(|code| str::from_utf8(code).ok()?.parse().ok());
        let head = answer.windows(4).position(|end| end == b"\r\n\r\n");
        let body = head.map_or(0, |end| answer.len() - end - 4);
        self.log_code(front, code.unwrap_or_default(), body);
    }

    /// Writes the line of a page. Listeners get their own line when they leave, and HLS viewers get none.
    pub(super) fn log_page(&self, front: &FrontDoor, page: &Page, reply: &Reply) {
        if reply.listener.is_none() && !matches!(page, Page::Hls(..)) {
            let bytes = reply.length().unwrap_or_default();
            self.log_code(front, reply.status.as_u16(), bytes as usize);
        }
    }

    pub(super) fn log_code(&self, front: &FrontDoor, status: u16, bytes: usize) {
        front.access.write(&AccessLine {
            peer: self.peer.ip(),
            since: self.since,
            request: &self.request,
            status,
            bytes: bytes as u64,
            referer: &self.referer,
            agent: &self.agent,
            duration: self.began.elapsed(),
        });
    }
}
