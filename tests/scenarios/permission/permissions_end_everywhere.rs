//! At every address that can last, what goes on by a permission is in the books and takes a place, and ends with it within
//! five seconds: when its time is over, when its key is removed, when an operator removes the listener, when the hook's time
//! is over, and when the hook does not permit any more what goes on.
//!
//! The addresses are those of [`House`](crate::support::house::House): live bodies with and without titles, by WebSocket, from
//! a time on, files, clips and recordings; live playlists, those of a window of the past, of files and of recordings, and
//! keys; titles; names over RTMP; WHEP. What cannot be:
//!
//! * A picture does not last: it is one answer. What ends is that another one is given; after a removal by an operator, who
//!   removes a listener and no credential, and where the hook has ended what goes on, the gate decides about it anew.
//! * Who is told titles is no listener, and so in no list of them from which an operator could remove it. Titles of a stream
//!   that is open or public are told without a permission, and there is none to end.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::Tool;

use crate::support::DEADLINE;
use crate::support::guarded::{LINK_SECRET, OF_FILE, write_keys};
use crate::support::house::House;
use crate::support::permission_hook::{Hook, KNOWN};
use crate::support::token_issuer::{SECRET, hs256, later};

/// For how long is permitted what ends by itself: everybody has begun before.
const LASTS: Duration = Duration::from_secs(30);

/// How far clocks may be apart, and so how much longer tokens are good for than they say.
const APART: Duration = Duration::from_secs(30);

#[test]
fn with_the_link() {
    let house = House::closed("");
    let config = house.folder.path().join("sign.toml");
    fs::write(
        &config,
        format!("[auth.link]\nsecret = \"{LINK_SECRET}\"\n"),
    )
    .unwrap();
    let end = Instant::now() + LASTS;
    let printed = Tool::carillon()
        .args(["sign", "play", "live/show", "--match", "**"])
        .args(["--for", &format!("{}s", LASTS.as_secs())])
        .arg("--config")
        .arg(&config)
        .run(DEADLINE);
    let printed = String::from_utf8(printed).unwrap();
    let token = printed.lines().find_map(|line| line.strip_prefix("token"));
    let audience = house.admit(&format!("link={}", token.expect(&printed).trim()));
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
        let url = format!(
            "http://{}/api/v1/listeners/{}",
            house.server.addr("admin"),
            one["id"]
        );
        Tool::new("curl")
            .args(["-sf", "-X", "DELETE", &url])
            .run(DEADLINE);
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
