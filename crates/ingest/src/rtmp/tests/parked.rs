//! Publishers that the intake reads, by each method. Real time passes in these.

use net::intake::{Intake, Method};
use net::panics::Part;
use tokio::io::copy_bidirectional;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::*;
use crate::Settings;

/// Serves a bare socket, whose other end the peer at `theirs` has.
pub(super) async fn serve_bare(
    context: Arc<Context>,
    mut theirs: DuplexStream,
) -> Result<Option<PlayRequest<DuplexStream>>, Error> {
    let door = TcpListener::bind("127.0.0.1:0").await?;
    let mut far = TcpStream::connect(door.local_addr()?).await?;
    let (near, _) = door.accept().await?;
    tokio::spawn(async move { copy_bidirectional(&mut theirs, &mut far).await });
    let player = serve_all(&context, near).await?;
    Ok(player.map(|player| {
        let (_, connection) = player.connection.detach();
        PlayRequest {
            connection: connection.attach(duplex(1).0),
            request: player.request,
        }
    }))
}

/// Contexts with an intake of each kind that this host has.
fn contexts(takeover: Takeover) -> impl Iterator<Item = Context> {
    gated_contexts(takeover).map(|(context, _)| context)
}

/// Returns such contexts after one whose publishers are not parked.
fn all_contexts(takeover: Takeover) -> impl Iterator<Item = Arc<Context>> {
    let unparked = std::iter::once(test_context(takeover, 0));
    unparked.chain(contexts(takeover).map(Arc::new))
}

/// Returns such contexts with their gates.
pub(super) fn gated_contexts(takeover: Takeover) -> impl Iterator<Item = (Context, Arc<TestGate>)> {
    let methods = [Method::Epoll, Method::Uring].into_iter();
    let methods = methods.filter(|method| *method == Method::Epoll || Method::probe().is_ok());
    methods.map(move |method| {
        let (context, gate) = gated(takeover, 0);
        let mut context = Arc::into_inner(context).expect("it is not shared yet");
        context.intake = Some(Intake::start(1, method, 0.02).expect("a thread"));
        (context, gate)
    })
}

#[tokio::test]
async fn what_is_published_is_heard_until_the_publisher_leaves() {
    for context in all_contexts(Takeover::SameCredential) {
        let (mut client, task) = Client::publish(&context, &at("show", KEY)).await;
        let mut listener = listen(&context, "live/show").await;
        let mut metadata = StreamMetadata::new();
        metadata.encoder = Some("tester".into());
        client.tell(&metadata).await;
        let heard = hear(&mut listener, 13).await;
        assert_eq!(heard[..13], *b"\x02\0\x0aonMetaData");
        client.audio(0, AAC_HEADER).await;
        for step in 0..50 {
            let frame = format!("\u{b}{step:03}");
            client.frame(step * 23, &frame).await;
            hears(&mut listener, &frame).await;
        }
        let wakeups = context.intake.as_ref().map(Intake::wakeups);
        assert!(wakeups.is_none_or(|wakeups| wakeups > 0));
        assert!(context.stats.receives.value(Protocol::Rtmp) >= 50);
        assert!(context.stats.bytes.value(Protocol::Rtmp) > 200);
        assert_eq!(context.stats.publishers.value(Protocol::Rtmp), 1);
        let info = stream(&context, "live/show").await.info();
        let source = &info.source;
        let kind = (source.protocol, source.container);
        assert_eq!(kind, ("rtmp", Container::Tracks));
        let said = (&*source.agent, &*source.content_type);
        assert_eq!(said, ("tester", "video/x-flv"));
        assert!(source.headers.is_empty());
        assert_eq!((info.tracks.len(), info.phase), (1, Phase::Live));
        drop(client);
        left(task).await;
        assert_eq!(context.stats.publishers.value(Protocol::Rtmp), 0);
        let info = stream(&context, "live/show").await.info();
        assert_eq!(info.phase, Phase::Lingering);
    }
}

#[tokio::test]
async fn nothing_is_lost_without_listeners() {
    for context in contexts(Takeover::SameCredential).map(Arc::new) {
        let (mut client, _task) = Client::publish(&context, &at("show", KEY)).await;
        client.audio(0, AAC_HEADER).await;
        // Long enough to be read in a relaxed way, and for the whole of it to be in the backlog.
        let began = Instant::now();
        let mut frames = 0_u32;
        while began.elapsed() < Duration::from_secs(1) {
            // Several at a time, so that few of them are read even if each step takes long.
            let at = began.elapsed().as_millis() as u32;
            for _ in 0..10 {
                client.frame(at, "frame").await;
                frames += 1;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let expected = u64::from(frames) * 5;
        let show = stream(&context, "live/show").await;
        until("the last of it", || show.info().ingest_bytes == expected).await;
        let receives = context.stats.receives.value(Protocol::Rtmp);
        assert!(receives < u64::from(frames), "{receives} of {frames}");
        let mut listener = listen(&context, "live/show").await;
        client.frame(1_000, "fresh").await;
        let all = hear(&mut listener, expected as usize + 5).await;
        assert!(all.ends_with(b"framefresh"));
    }
}

#[tokio::test]
async fn a_second_publisher_takes_over_from_a_silent_one() {
    for context in all_contexts(Takeover::SameCredential) {
        let (mut first, first_task) = Client::publish(&context, &at("show", KEY)).await;
        let mut listener = listen(&context, "live/show").await;
        first.speak(5_000, "one").await;
        hears(&mut listener, "one").await;
        let (mut second, _task) = Client::publish(&context, &at("show", KEY)).await;
        let words = first.last_words().await;
        has(&words, "NetStream.Publish.BadName");
        assert!(matches!(ended(first_task).await, Error::Superseded));
        second.speak(0, "two").await;
        hears(&mut listener, "two").await;
        assert_eq!(context.stats.publishers.value(Protocol::Rtmp), 1);
    }
}

#[tokio::test]
async fn a_panic_over_a_publisher_s_media_ends_its_epoch_and_no_other() {
    net::panics::install_hook();
    for context in contexts(Takeover::SameCredential).map(Arc::new) {
        let (mut other, _task) = Client::publish(&context, &at("other", KEY)).await;
        let (mut broken, broken_task) = Client::publish(&context, &at("show", KEY)).await;
        let mut listener = listen(&context, "live/show").await;
        let mut others = listen(&context, "live/other").await;
        let panics = Part::Intake.panics();
        broken.audio(0, AAC_HEADER).await;
        broken.audio(0, &[b"\xaf\x01", DEFECT].concat()).await;
        ended(broken_task).await;
        assert!(Part::Intake.panics() > panics);
        assert_eq!(context.stats.publishers.value(Protocol::Rtmp), 1);
        let show = stream(&context, "live/show").await;
        assert_eq!(show.info().phase, Phase::Lingering);
        other.speak(0, "one").await;
        hears(&mut others, "one").await;
        // The stream is there for the next publisher.
        let (mut again, _task) = Client::publish(&context, &at("show", KEY)).await;
        again.speak(0, "two").await;
        hears(&mut listener, "two").await;
    }
}

#[tokio::test]
async fn a_stream_that_the_server_ends_is_not_called_taken() {
    for context in all_contexts(Takeover::SameCredential) {
        let (mut client, task) = Client::publish(&context, &at("show", KEY)).await;
        let show = stream(&context, "live/show").await;
        show.end(fanout::events::EndReason::Operator);
        has(&client.last_words().await, "NetStream.Failed");
        assert!(matches!(ended(task).await, Error::Ended));
    }
}

#[tokio::test]
async fn a_publisher_without_media_is_given_up() {
    for mut context in contexts(Takeover::SameCredential) {
        context.settings = Settings {
            source_timeout: Duration::from_millis(300),
            ..Settings::default()
        };
        let context = Arc::new(context);
        let (mut client, task) = Client::publish(&context, &at("show", KEY)).await;
        client.speak(0, "one").await;
        assert!(matches!(ended(task).await, Error::Silent(_)));
        assert_eq!(context.stats.publishers.value(Protocol::Rtmp), 0);
    }
}

#[tokio::test]
async fn a_connection_may_publish_again_and_play_after_that() {
    for context in all_contexts(Takeover::Never) {
        let (mut client, task) = Client::publish(&context, &at("show", KEY)).await;
        let mut listener = listen(&context, "live/show").await;
        let show = stream(&context, "live/show").await;
        for (word, epoch) in [("one", 1), ("two", 2)] {
            if epoch > 1 {
                client.request(&at("show", KEY)).await;
                client.started().await;
            }
            client.speak(0, word).await;
            hears(&mut listener, word).await;
            assert_eq!(show.info().epoch, epoch);
            client.stop_publishing().await;
            until("the end", || show.info().phase == Phase::Lingering).await;
            assert_eq!(context.stats.publishers.value(Protocol::Rtmp), 0);
        }
        client.play("show").await;
        let player = player(&mut client, task).await;
        assert_eq!(player.request.path.name, "live/show");
    }
}

#[tokio::test]
async fn what_stands_behind_the_end_of_a_stream_is_not_lost() {
    for context in all_contexts(Takeover::Never) {
        let (mut client, task) = Client::publish(&context, &at("one", KEY)).await;
        client.audio(0, AAC_HEADER).await;
        // One write each, so that all of it is in one read.
        let again = [
            message(20, 0, DELETE_STREAM),
            asking("publish", &at("two", KEY)),
            message(8, 0, AAC_HEADER),
            message(8, 0, b"\xaf\x01first"),
        ];
        client.write(&again.concat()).await;
        let mut listener = listen(&context, "live/two").await;
        hears(&mut listener, "first").await;
        assert_eq!(context.stats.publishers.value(Protocol::Rtmp), 1);
        let play = [
            message(20, 0, DELETE_STREAM),
            asking("play", "one"),
            message(4, 0, &[0, 3, 0, 0, 0, 1, 0, 0, 1, 0]),
        ];
        client.write(&play.concat()).await;
        let Ok(Some(player)) = task.await.expect("no panic") else {
            panic!("it wants to play");
        };
        assert_eq!(player.request.path.name, "live/one");
        assert_eq!(context.stats.publishers.value(Protocol::Rtmp), 0);
    }
}

#[tokio::test]
async fn a_lie_ends_the_connection_and_what_came_before_is_heard() {
    for context in contexts(Takeover::Never).map(Arc::new) {
        let (mut client, task) = Client::publish(&context, &at("show", KEY)).await;
        let mut listener = listen(&context, "live/show").await;
        client.speak(0, "one").await;
        // A chunk that continues a message that was not begun.
        client.write(&[0xc0 | 63]).await;
        hears(&mut listener, "one").await;
        assert!(matches!(ended(task).await, Error::Protocol(_)));
    }
}

#[tokio::test]
async fn a_server_that_leaves_has_its_publishers_continue() {
    for mut context in contexts(Takeover::Never) {
        let (leave, leaving) = watch::channel(false);
        context.leaving = leaving;
        let context = Arc::new(context);
        let (mut client, _task) = Client::publish(&context, &at("show", KEY)).await;
        let mut listener = listen(&context, "live/show").await;
        client.speak(0, "one").await;
        hears(&mut listener, "one").await;
        leave.send_replace(true);
        for step in 1..20 {
            client.frame(step * 23, "two").await;
            hears(&mut listener, "two").await;
        }
    }
}
