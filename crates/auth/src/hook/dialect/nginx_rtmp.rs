//! nginx-rtmp's `on_connect`, `on_publish`, `on_play`, `on_update`, `on_publish_done` and `on_play_done` (`ngx_rtmp_notify_module.c`).
//!
//! A form; the arguments of the address are appended as the client wrote them, but for those that a hook could take for a
//! field of the server's, and as `user`, `password` and `key` what it presents elsewhere. 2xx permits. A redirection permits under another name of the same application, that of `Location`; one
//! to an `rtmp://` address would relay the stream, which is not done here: it is no answer, so that nothing is published that
//! the hook did not mean. Anything else denies. An update goes on at a redirection as there, wherever that points to. Titles have no counterpart and are asked for as publishing.

use http::{HeaderMap, StatusCode, header};

use super::Garbled;
use crate::hook::form::Form;
use crate::hook::question::{Moment, Question, Verdict};
use fanout::gate::Action;

/// Longest program name that nginx-rtmp passes on, in bytes: its buffer of 32 with the zero at the end.
const FLASHVER_BYTES_MAX: usize = 31;

/// The fields that tell the hook what is asked. Readers of forms take the first, the last or a list of fields with one name, so
/// no argument of a client may have one of these.
const OWN: [&str; 16] = [
    "addr",
    "app",
    "call",
    "clientid",
    "duration",
    "epoch",
    "flashver",
    "name",
    "pageurl",
    "reset",
    "start",
    "swfurl",
    "tcurl",
    "time",
    "timestamp",
    "type",
];

/// `start` of a player that asks for the live stream, which is -2 s in 32 bits.
const START_LIVE: &str = "4294965296";

pub(super) fn body(question: &Question<'_>, moment: Moment, host: &str) -> String {
    let flashver = &question.agent[..question.agent.floor_char_boundary(FLASHVER_BYTES_MAX)];
    let form = Form::default()
        .field("app", question.application())
        .field("flashver", flashver)
        .field("swfurl", "")
        .field("tcurl", &question.tc_url(host))
        .field("pageurl", "")
        .field("addr", &question.peer.ip().to_canonical().to_string());
    if moment == Moment::Connect {
        // The arguments are those of the stream, which the client has not named yet; nor does nginx say who it is.
        return form.field("epoch", "0").field("call", "connect").finish();
    }
    let form = form.field("clientid", &question.number.to_string());
    let is_play = question.action == Action::Play;
    let (call, more): (_, &[(&str, &str)]) = match (is_play, moment) {
        (false, Moment::End { .. }) => ("publish_done", &[]),
        (true, Moment::End { .. }) => ("play_done", &[]),
        (false, Moment::Update { .. }) => ("update_publish", &[]),
        (true, Moment::Update { .. }) => ("update_play", &[]),
        (false, _) => ("publish", &[("type", "live")]),
        (true, _) => (
            "play",
            &[("start", START_LIVE), ("duration", "0"), ("reset", "0")],
        ),
    };
    let form = form.field("call", call);
    let form = match moment {
        // The times of its media are not told here: there are none of a listener over HTTP.
        Moment::Update { lasted } => form
            .field("time", &lasted.as_secs().to_string())
            .field("timestamp", &lasted.as_millis().to_string()),
        _ => form,
    };
    let form = form.field("name", question.last_segment());
    let fields = more.iter();
    let form = fields.fold(form, |form, (name, value)| form.field(name, value));
    form.raw(&of_client(&question.arguments())).finish()
}

/// The arguments that no reader takes for [`OWN`] ones: with a plain name, whose spelling every reader takes for what it is
/// (PHP, for one, reads `name[]` and ` name` as `name`), and without a semicolon, which some take for the end of a field.
fn of_client(arguments: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let is_harmless = |argument: &&str| {
        let name = argument.split('=').next().unwrap_or_default();
        let is_own = OWN.iter().any(|own| own.eq_ignore_ascii_case(name));
        !name.is_empty() && name.bytes().all(is_plain) && !is_own
    };
    let harmless: Vec<_> = arguments.split('&').filter(is_harmless).collect();
    harmless.join("&").replace(';', "%3B")
}

pub(super) fn verdict(
    question: &Question<'_>,
    status: StatusCode,
    headers: &HeaderMap,
) -> Result<Verdict, Garbled> {
    match status {
        _ if status.is_success() => Ok(Verdict::ALLOWED),
        _ if status.is_redirection() => {
            let stream = renamed(question, headers)?;
            Ok(Verdict::Allowed {
                lifetime: None,
                identity: None,
                stream: Some(stream),
            })
        }
        _ => Ok(Verdict::DENIED),
    }
}

/// The stream that a redirection names.
fn renamed(question: &Question<'_>, headers: &HeaderMap) -> Result<String, Garbled> {
    let location = headers.get(header::LOCATION);
    let location = location.and_then(|value| value.to_str().ok());
    let location = location.ok_or(Garbled("it redirects without saying where to"))?;
    // Behind the question mark are new arguments, of which nothing here depends.
    let name = location.split('?').next().unwrap_or_default();
    if name.contains("://") {
        return Err(Garbled(
            "it redirects to another server, and streams are not relayed",
        ));
    }
    Ok(match question.application() {
        "" => name.to_owned(),
        application => format!("{application}/{name}"),
    })
}
