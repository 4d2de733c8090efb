//! nginx-rtmp's `on_connect`, `on_publish`, `on_play`, `on_update`, `on_publish_done` and `on_play_done`
//! (`ngx_rtmp_notify_module.c`).
//!
//! The question is a form. The arguments of the address are appended as the client wrote them, except those that a hook could
//! take for a field of the server's; credentials presented elsewhere are appended as `user`, `password` and `key`. 2xx permits.
//! A redirection permits under another name of the same application, that of `Location`. A redirection to an `rtmp://` address
//! would relay the stream, which is not supported: it counts as no answer, so that nothing is published that the hook did not
//! intend. Anything else denies. As in nginx-rtmp, a session continues if an update is redirected, whatever the target. Titles
//! have no counterpart and are asked for as publishing.

use fanout::gate::{Action, Request};
use http::{HeaderMap, header};

use crate::authority::Grant;
use crate::hook::form::{Form, application, arguments, last_segment, tc_url};
use crate::hook::{
    Answer, Body, Garbled, HookDenied, HookFeature, Moment, Occasion, Reply, Speaks,
};

/// Longest program name that nginx-rtmp passes on, in bytes: its buffer of 32 less the terminating zero.
const FLASHVER_BYTES_MAX: usize = 31;

/// Fields of the question itself. Readers of forms take the first, the last or a list of fields with one name, so no argument
/// of a client may have one of these names.
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

/// `start` of a player that requests the live stream: -2 s in 32 bits.
const START_LIVE: &str = "4294965296";

pub(super) struct NginxRtmp;

impl Speaks for NginxRtmp {
    fn name(&self) -> &'static str {
        "nginx-rtmp"
    }

    fn features(&self) -> &'static [HookFeature] {
        &[
            HookFeature::Connections,
            HookFeature::Ends,
            HookFeature::Updates,
        ]
    }

    fn body(&self, on: &Occasion<'_>) -> Body {
        let request = on.request;
        let flashver = &request.agent[..request.agent.floor_char_boundary(FLASHVER_BYTES_MAX)];
        let form = Form::default()
            .field("app", application(request))
            .field("flashver", flashver)
            .field("swfurl", "")
            .field("tcurl", &tc_url(request, &on.settings.host))
            .field("pageurl", "")
            .field("addr", &request.peer.ip().to_canonical().to_string());
        if on.moment == Moment::Connect {
            // The arguments belong to the stream, which the client has not named yet; nor does nginx identify the client here.
            return form.field("epoch", "0").field("call", "connect").finish();
        }
        let form = form.field("clientid", &on.number.to_string());
        let is_play = on.action == Action::Play;
        let (call, more): (_, &[(&str, &str)]) = match (is_play, on.moment) {
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
        let form = match on.moment {
            // Media timestamps are not reported here, because a listener over HTTP has none.
            Moment::Update { lasted } => form
                .field("time", &lasted.as_secs().to_string())
                .field("timestamp", &lasted.as_millis().to_string()),
            _ => form,
        };
        let form = form.field("name", last_segment(request));
        let fields = more.iter();
        let form = fields.fold(form, |form, (name, value)| form.field(name, value));
        form.raw(&of_client(&arguments(request))).finish()
    }

    fn answer(&self, on: &Occasion<'_>, reply: &Reply) -> Result<Answer, Garbled> {
        let status = reply.head.status;
        if status.is_success() {
            return Ok(Ok(Grant::to_all()));
        }
        if !status.is_redirection() {
            return Ok(Err(HookDenied::because(None)));
        }
        match on.moment {
            Moment::Begin => {
                let stream = renamed(on.request, &reply.head.headers)?;
                Ok(Grant::to_all().renamed(Some(stream)))
            }
            // Another application is not supported, and another name comes too late: a redirection is not a refusal.
            Moment::Connect | Moment::Update { .. } | Moment::End { .. } => Ok(Ok(Grant::to_all())),
        }
    }
}

/// Keeps the arguments that no reader takes for [`OWN`] ones: those with a plain name, which every reader reads as it is (PHP,
/// for one, reads `name[]` and ` name` as `name`). Semicolons are encoded, because some take them for the end of a field.
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

/// Returns the stream that a redirection names.
fn renamed(request: &Request<'_>, headers: &HeaderMap) -> Result<String, Garbled> {
    let location = headers.get(header::LOCATION);
    let location = location.and_then(|value| value.to_str().ok());
    let location = location.ok_or(Garbled("it redirects without saying where to"))?;
    // New arguments follow the question mark; nothing here depends on them.
    let name = location.split('?').next().unwrap_or_default();
    if name.contains("://") {
        return Err(Garbled(
            "it redirects to another server, and streams are not relayed",
        ));
    }
    Ok(match application(request) {
        "" => name.to_owned(),
        application => format!("{application}/{name}"),
    })
}
