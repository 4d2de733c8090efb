//! Files on demand and recordings for players over RTMP: implements what `egress-rtmp` requests with `vod`.

use std::sync::Arc;
use std::time::Duration;

use egress_rtmp::{Coming, Film, Films};
use media::{Item, StreamName};
use rtmp::server::FileKind;

/// The files and the recordings that are served.
pub(crate) struct Projector {
    pub(crate) files: Arc<vod::Files>,
    pub(crate) past: vod::Past,
}

impl Films for Projector {
    fn folder(&self, name: &str) -> Option<StreamName> {
        let folder = self.files.folder_of_film(name).cloned();
        // A client that may play a stream may play its recordings.
        folder.or_else(|| vod::Past::stream_of_film(name))
    }

    fn open<'a>(
        &'a self,
        name: &'a str,
        kind: Option<FileKind>,
    ) -> Coming<'a, Option<Box<dyn Film>>> {
        Box::pin(async move {
            let kind = match kind {
                None => None,
                Some(FileKind::Mp4) => Some(vod::Kind::Mp4),
                Some(FileKind::Flv) => Some(vod::Kind::Flv),
                Some(FileKind::Mp3) => Some(vod::Kind::Mp3),
            };
            let film = match self.files.folder_of_film(name) {
                Some(_) => self.files.film(name, kind).await?,
                None => self.past.film(name, kind).await?,
            };
            Ok(film.map(|film| Box::new(Shown(film)) as Box<dyn Film>))
        })
    }
}

/// A film that is being played.
struct Shown(vod::Film);

impl Film for Shown {
    fn length(&self) -> Duration {
        self.0.length()
    }

    fn opening(&self) -> &[Item] {
        self.0.opening()
    }

    fn seek(&mut self, to: Duration) -> Coming<'_, ()> {
        Box::pin(self.0.seek(to))
    }

    fn next(&mut self) -> Coming<'_, Vec<Item>> {
        Box::pin(self.0.next())
    }
}
