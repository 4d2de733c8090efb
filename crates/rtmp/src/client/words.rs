//! Messages that only a client sends.

use super::{Address, Purpose};
use crate::words::{Words, enhanced};

/// `capsEx` bits of this client (Enhanced RTMP v2, CapsExMask): reconnect requests 1, multitrack 2, ModEx 4.
const CAPABILITIES: f64 = 7.0;

/// Transaction numbers, by which replies are matched to requests. Each request is made once.
pub(super) mod transaction {
    pub(crate) const CONNECT: f64 = 1.0;
    pub(crate) const RELEASE_STREAM: f64 = 2.0;
    pub(crate) const FC_PUBLISH: f64 = 3.0;
    pub(crate) const CREATE_STREAM: f64 = 4.0;
    pub(crate) const START: f64 = 5.0;
    pub(crate) const FC_UNPUBLISH: f64 = 6.0;
    pub(crate) const DELETE_STREAM: f64 = 7.0;
}

impl Words {
    /// Writes `connect`. The fields beside the address are those that servers expect.
    pub(super) fn connect(&mut self, address: &Address, purpose: Purpose) {
        let (app, tc_url) = (address.app(), address.tc_url());
        self.command("connect", transaction::CONNECT, |e| {
            e.object();
            e.key("app").string(&app);
            match purpose {
                // Some servers let a client publish only if it uses this name.
                Purpose::Publish => {
                    e.key("type").string("nonprivate");
                    e.key("flashVer").string("FMLE/3.0 (compatible; Carillon)");
                    e.key("tcUrl").string(&tc_url);
                }
                Purpose::Play => {
                    e.key("flashVer").string("LNX 9,0,124,2");
                    e.key("tcUrl").string(&tc_url);
                    e.key("fpad").boolean(false);
                    e.key("capabilities").number(15.0);
                    e.key("audioCodecs").number(4095.0);
                    e.key("videoCodecs").number(252.0);
                    e.key("videoFunction").number(1.0);
                }
            }
            enhanced(e, CAPABILITIES);
            e.end();
        });
    }
}
