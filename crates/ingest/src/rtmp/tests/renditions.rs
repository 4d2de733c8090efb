//! Publishers of several video tracks (Enhanced RTMP v2).

use super::*;

/// An AVC decoder configuration: High profile, 320×180.
const AVC_CONFIG: &[u8] = b"\x01\x64\x00\x0c\xff\xe1\x00\x1a\x67\x64\x00\x0c\xac\xd9\x41\x41\x9f\x9f\x01\x10\x00\x00\x03\x00\
\x10\x00\x00\x03\x03\x20\xf1\x42\x99\x60\x01\x00\x06\x68\xeb\xe3\xcb\x22\xc0\xfd\xf8\xf8\x00";

impl Client {
    /// The headers of audio and of video tracks 0 and 1, the former in the form that all publishers use.
    async fn two_sizes(&mut self, at: u32) {
        self.audio(at, AAC_HEADER).await;
        let first = [b"\x17\0\0\0\0", AVC_CONFIG].concat();
        self.video(at, &first).await;
        let second = [b"\x96\x00avc1\x01", AVC_CONFIG].concat();
        self.video(at, &second).await;
    }

    /// A keyframe of each, and a frame of audio.
    async fn frames(&mut self, at: u32, texts: [&str; 3]) {
        let [large, small, audio] = texts;
        let large = [b"\x17\x01\0\0\0", large.as_bytes()].concat();
        self.video(at, &large).await;
        let small = [b"\x96\x01avc1\x01\0\0\0", small.as_bytes()].concat();
        self.video(at, &small).await;
        self.frame(at, audio).await;
    }
}

#[tokio::test(start_paused = true)]
async fn each_further_picture_track_is_a_stream_with_the_same_audio() {
    let context = test_context(Takeover::SameCredential, 1);
    let (mut client, task) = Client::publish(&context, &at("show", KEY)).await;
    client.two_sizes(5_000).await;
    let mut show = listen_with_times(&context, "live/show").await;
    let mut small = listen_with_times(&context, "live/show~1").await;
    client.frames(5_000, ["large", "small", "sound"]).await;
    hears(&mut show, "@0 large@0 sound").await;
    hears(&mut small, "@0 small@0 sound").await;
    // Both in one message, each with its own composition time.
    let length = [0, 0, AVC_CONFIG.len() as u8];
    let tracks = [0, 1].map(|number| [&[number], &length[..], AVC_CONFIG].concat());
    let headers = [b"\x96\x10avc1", &tracks.concat()[..]].concat();
    client.video(5_040, &headers).await;
    let both = b"\x96\x11avc1\x00\0\0\x04\0\0\0L\x01\0\0\x04\0\0\0S";
    client.video(5_040, both).await;
    hears(&mut show, "@40 L").await;
    hears(&mut small, "@40 S").await;
    let [parent, rendition] = ["live/show", "live/show~1"].map(|name| {
        let name = media::StreamName::parse(name).expect("a name");
        context.registry.stream(&name).expect("it is there").info()
    });
    assert_eq!((parent.tracks.len(), rendition.tracks.len()), (2, 2));
    assert_eq!(rendition.source.agent, parent.source.agent);
    assert_eq!(rendition.source.peer, parent.source.peer);
    assert_eq!(rendition.identity, parent.identity);
    assert_eq!(context.stats.publishers.value(Protocol::Rtmp), 1);
    // Another connection takes the stream over while this one seems alive.
    let (mut second, _task) = Client::publish(&context, &at("show", KEY)).await;
    second.two_sizes(0).await;
    second.frames(0, ["LARGE", "SMALL", "SOUND"]).await;
    hears(&mut show, "@40 LARGE@40 SOUND").await;
    hears(&mut small, "@40 SMALL@40 SOUND").await;
    assert!(matches!(ended(task).await, Error::Superseded));
    second.frames(40, ["more", "less", "tone"]).await;
    hears(&mut small, "@80 less@80 tone").await;
    drop(second);
    for name in ["live/show", "live/show~1"] {
        let stream = stream(&context, name).await;
        until("the end", || stream.info().phase == Phase::Lingering).await;
    }
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn pictures_may_begin_with_any_number() {
    let context = test_context(Takeover::SameCredential, 0);
    let (mut client, _task) = Client::publish(&context, &at("show", KEY)).await;
    let mut show = listen(&context, "live/show").await;
    let header = [b"\x96\x00avc1\x07", AVC_CONFIG].concat();
    client.video(0, &header).await;
    client.video(0, b"\x96\x01avc1\x07\0\0\0only").await;
    hears(&mut show, "only").await;
    assert_eq!(context.registry.list().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_rendition_whose_name_is_taken_is_dropped_alone() {
    let context = test_context(Takeover::SameCredential, 0);
    let log = Log::default();
    let _listening = log.capture();
    let (mut other, _task) = Client::publish(&context, &at("show~1", KEY)).await;
    let mut small = listen(&context, "live/show~1").await;
    let (mut client, _task) = Client::publish(&context, &at("show", KEY)).await;
    let mut show = listen(&context, "live/show").await;
    client.two_sizes(0).await;
    for n in 0..3 {
        client.frames(n * 40, ["large", "small", "sound"]).await;
        hears(&mut show, "largesound").await;
    }
    other.speak(0, "own").await;
    hears(&mut small, "own").await;
    let lines = log.lines().join("\n");
    let got = lines.matches("a rendition is dropped").count();
    assert_eq!(got, 1, "{lines}");
}

#[tokio::test(start_paused = true)]
async fn a_malformed_multitrack_message_ends_the_publisher() {
    let context = test_context(Takeover::SameCredential, 0);
    let (mut client, task) = Client::publish(&context, &at("show", KEY)).await;
    client.two_sizes(0).await;
    // The second track is longer than the message.
    let cut = b"\x96\x11avc1\x00\0\0\x01a\x01\xff\xff\xffb";
    client.video(0, cut).await;
    let words = client.last_words().await;
    has(&words, "NetStream.Failed");
    has(&words, "a multitrack message is cut short");
    let error = ended(task).await;
    assert_eq!(error.rejection(), Some(Rejection::Malformed), "{error}");
    assert_eq!(context.stats.rejected.value(Rejection::Malformed), 1);
    let stream = stream(&context, "live/show~1").await;
    assert_eq!(stream.info().phase, Phase::Lingering);
}
