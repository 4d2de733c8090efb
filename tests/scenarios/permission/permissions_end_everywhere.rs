//! Lasting sessions end with their permission: at every address that can last, a permitted session is listed and counted, takes
//! a place, and ends within five seconds when its time is over, when its key is removed, when an operator removes the listener,
//! when the hook's time is over, and when the hook no longer permits the session.
//!
//! The addresses are those of [`House`](crate::support::house::House): live bodies with and without titles, by WebSocket, from
//! a time on, files, clips and recordings; live playlists, those of a window of the past, of files and of recordings, and keys;
//! titles; names over RTMP; WHEP. Two cases are impossible:
//!
//! * A still does not last: it is one reply. What ends is the permission to get another one; after a removal by an operator,
//!   who removes a listener and no credential, and where the hook has ended the session, the gate decides about it anew.
//! * A client that receives titles is no listener, and so in no list from which an operator could remove it. Titles of a stream
//!   that is open or public are sent without a permission, so there is none to end.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::support::delete;
use crate::support::guarded::{OF_FILE, sign, write_keys};
use crate::support::house::House;
use crate::support::permission_hook::{Hook, KNOWN};
use crate::support::token_issuer::{SECRET, hs256, later};

/// Length of the permissions that end by themselves: all clients have begun before.
const LASTS: Duration = Duration::from_secs(30);

/// Tolerated clock difference, by which tokens are valid for longer than they say.
const APART: Duration = Duration::from_secs(30);

#[test]
fn with_the_link() {
    let house = House::closed("");
    let end = Instant::now() + LASTS;
    let time = format!("{}s", LASTS.as_secs());
    let token = sign(&["play", "live/show", "--match", "**", "--for", &time]);
    let audience = house.admit(&format!("link={token}"));
    house.assert_ended(audience, end, 403);
}

#[test]
fn with_the_token() {
    let house = House::closed(&format!("[auth.jwt]\nsecret = \"{SECRET}\"\n"));
    let end = Instant::now() + APART;
    let claims = json!({"sub": "ann", "exp": later(0), "carillon": [{"do": "play", "on": "**"}]});
    let audience = house.admit(&format!("jwt={}", hs256(SECRET, &claims)));
    house.assert_ended(audience, end, 403);
}

#[test]
fn with_the_key() {
    let house = House::closed("");
    let audience = house.admit(&format!("key={OF_FILE}"));
    write_keys(
        &house.folder.path().join("keys.toml"),
        "the-next-key-8830-bob",
    );
    house.assert_ended(audience, Instant::now(), 403);
}

#[test]
fn by_the_operator() {
    let house = House::open();
    let audience = house.admit("");
    let end = Instant::now();
    for one in house.listed() {
        delete(&house.server, &format!("listeners/{}", one["id"]));
    }
    house.assert_ended(audience, end, 200);
}

#[test]
fn with_the_hook_s_time() {
    let hook = Hook::start();
    let url = hook.url("until");
    let house = House::closed(&format!("[auth.hook]\nurl = \"{url}\"\nasks = \"play\"\n"));
    hook.permit_for(LASTS);
    let end = Instant::now() + LASTS;
    let audience = house.admit(&format!("key={KNOWN}"));
    house.assert_ended(audience, end, 403);
}

#[test]
fn with_the_hook() {
    let hook = Hook::start();
    let (url, update) = (hook.url("carillon"), hook.url("ongoing"));
    let house = House::closed(&format!(
        "[auth.hook]\nurl = \"{url}\"\nasks = \"play\"\nupdate_url = \"{update}\"\nupdate_every = \"1s\"\n"
    ));
    let audience = house.admit(&format!("key={KNOWN}"));
    hook.revoke();
    house.assert_ended(audience, Instant::now(), 200);
}
