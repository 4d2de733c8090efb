//! Transfer of one recording to the bucket, in one request or in parts, resumed after an interruption.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use recordings::{Recording, RecordingId};
use tokio::task::{JoinSet, yield_now};

use crate::uploads::bucket::Bucket;
use crate::uploads::failure::Failure;
use crate::uploads::journal::{Begun, Journal, Stored};
use crate::uploads::local::{Generation, Local, closed_path};
use crate::uploads::parts::{Parts, bare, composite_tag, digest, hex};

/// Most parts in flight: enough to fill a path of 100 ms at a gigabit, with 32 MiB of memory.
const PARTS_IN_FLIGHT: usize = 4;

/// Multipart object that parts are sent for.
#[derive(Clone, Copy)]
struct Object<'a> {
    id: RecordingId,
    key: &'a str,
    upload: &'a str,
}

/// Copies recordings, one after another.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    pub(crate) bucket: Bucket,
    pub(crate) journal: Arc<Journal>,
}

impl Transfer {
    /// Copies a complete recording, and returns the stored object. It may be dropped at any point; the next attempt resumes
    /// there. An identical object that exists already counts as the copy, because the journal may have been lost.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(crate) async fn copy(&self, recording: &Recording) -> Result<Stored, Failure> {
        let local = Local::open(&recording.path)?;
        let key = self.bucket.key(recording);
        let begun = match self.journal.begun_of(recording.id)? {
            Some(begun) if begun.is_open() && begun.key == key => {
                Some(self.settle(recording, &local, begun).await?)
            }
            begun => begun,
        };
        let (current, outdated) = match begun {
            Some(begun) if begun.generation == local.generation() && begun.key == key => {
                (Some(begun), None)
            }
            other => (None, other),
        };
        let known = current.as_ref().or(outdated.as_ref());
        // An existing object may then be from an interrupted attempt, or from the file before it changed.
        let is_ours = known.is_some_and(|begun| begun.key == key);
        if let Some(outdated) = &outdated {
            self.give_up(outdated).await?;
        }
        let parts = Parts::of(local.generation().bytes);
        let found = match is_ours {
            true => None,
            false => self.bucket.head(&key).await?,
        };
        if let Some(found) = found {
            if found.bytes != local.generation().bytes
                || !same(&found.tag, &tag_of(&local, parts).await?)
            {
                return Err(Failure::Taken(key));
            }
            return self.complete(recording, &local, key, found.tag);
        }
        let sent = match parts.count() {
            1 => self.at_once(recording, &local, &key, is_ours).await,
            _ => self.in_parts(recording, &local, &key, parts, current).await,
        };
        let tag = sent?;
        let bytes = local.generation().bytes;
        let seen = self.bucket.head(&key).await?;
        let is_there = seen.is_some_and(|seen| seen.bytes == bytes && same(&seen.tag, &tag));
        if !is_there {
            self.begin(recording, &local, &key, String::new())?;
            return Err(Failure::Unlike);
        }
        self.complete(recording, &local, key, tag)
    }

    /// Records that there is a copy of the file's present version.
    fn complete(
        &self,
        recording: &Recording,
        local: &Local,
        key: String,
        tag: String,
    ) -> Result<Stored, Failure> {
        if local.has_changed()? {
            return Err(Failure::Changed);
        }
        let bytes = local.generation().bytes;
        let stored = Stored { key, tag, bytes };
        self.journal.complete(recording, &stored)?;
        Ok(stored)
    }

    /// Sends the file in one request.
    async fn at_once(
        &self,
        recording: &Recording,
        local: &Local,
        key: &str,
        is_ours: bool,
    ) -> Result<String, Failure> {
        self.begin(recording, local, key, String::new())?;
        let body = local.read(0..local.generation().bytes)?;
        let media_type = recording.container.media_type();
        let put = self.bucket.put(key, media_type, body, !is_ours).await;
        if let Err(Failure::Taken(_)) = put {
            self.journal.forget(recording.id)?;
        }
        put
    }

    /// Sends the file in parts, some of which may have arrived before.
    async fn in_parts(
        &self,
        recording: &Recording,
        local: &Local,
        key: &str,
        parts: Parts,
        current: Option<Begun>,
    ) -> Result<String, Failure> {
        let upload = match current.filter(|begun| !begun.upload.is_empty()) {
            Some(begun) => begun.upload,
            None => {
                let media_type = recording.container.media_type();
                let upload = self.bucket.begin(key, media_type).await?;
                self.begin(recording, local, key, upload.clone())?;
                upload
            }
        };
        let object = Object {
            id: recording.id,
            key,
            upload: &upload,
        };
        let sent = self.send(object, local, parts, 0).await;
        let completed = match sent {
            Ok(tags) => self.put_together(local, key, &upload, &tags).await,
            Err(failure) => Err(failure),
        };
        if let Err(Failure::Unknown(_)) = completed {
            // The storage may drop uploads that take too long; the next attempt starts a new one.
            self.begin(recording, local, key, String::new())?;
        }
        completed
    }

    async fn put_together(
        &self,
        local: &Local,
        key: &str,
        upload: &str,
        tags: &BTreeMap<u32, String>,
    ) -> Result<String, Failure> {
        let failure = match self
            .bucket
            .complete(key, upload, tags.values().cloned())
            .await
        {
            Err(failure @ Failure::Unknown(_)) => failure,
            completed => return completed,
        };
        // The object may have been assembled before that could be recorded.
        let wanted = composite_tag(tags.values().map(String::as_str));
        let seen = self.bucket.head(key).await?.filter(|seen| {
            let has_tag = wanted.as_deref().is_none_or(|tag| same(&seen.tag, tag));
            seen.bytes == local.generation().bytes && has_tag
        });
        seen.map(|seen| seen.tag).ok_or(failure)
    }

    /// Cancels an upload, and drops its parts.
    pub(crate) async fn give_up(&self, begun: &Begun) -> Result<(), Failure> {
        match begun.upload.is_empty() {
            true => Ok(()),
            false => self.bucket.abort(&begun.key, &begun.upload).await,
        }
    }

    /// Removes the data of an upload whose recording is removed: the object may be complete without that being recorded.
    pub(crate) async fn undo(&self, begun: &Begun) -> Result<(), Failure> {
        self.give_up(begun).await?;
        let seen = self.bucket.head(&begun.key).await?;
        match seen.is_some_and(|seen| seen.bytes == begun.generation.bytes) {
            true => self.bucket.remove(&begun.key).await,
            false => Ok(()),
        }
    }

    /// Sends the final parts of a recording that is still being written: full parts except the first, whose beginning changes
    /// when the file is closed. Returns false if there was nothing to send.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(crate) async fn ahead(&self, recording: &Recording) -> Result<bool, Failure> {
        let (id, parts) = (recording.id, Parts::full(recording.bytes));
        if parts.count() < 2 || self.journal.parts(id)?.len() + 1 >= parts.count() as usize {
            return Ok(false);
        }
        let local = match Local::open(&recording.path) {
            // The file was closed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            local => local?,
        };
        let key = self.bucket.key(recording);
        let begun = self.journal.begun_of(id)?;
        let known = begun.filter(|begun| begun.is_open() && begun.key == key);
        let upload = match known {
            Some(begun) => begun.upload,
            None if self.bucket.head(&key).await?.is_some() => return Err(Failure::Taken(key)),
            None => {
                let media_type = recording.container.media_type();
                let upload = self.bucket.begin(&key, media_type).await?;
                let begun = Begun {
                    key: key.clone(),
                    upload: upload.clone(),
                    generation: Generation::OPEN,
                    path: closed_path(recording),
                };
                self.journal.begin(id, &begun)?;
                upload
            }
        };
        let object = Object {
            id,
            key: &key,
            upload: &upload,
        };
        let sent = self.send(object, &local, parts, 1).await;
        if let Err(Failure::Unknown(_)) = sent {
            // The storage has dropped the upload; the next attempt starts a new one.
            self.journal.forget(id)?;
        }
        sent.map(|_| true)
    }

    /// Continues an upload started while the file was written: parts that are still the same are not sent again.
    async fn settle(
        &self,
        recording: &Recording,
        local: &Local,
        begun: Begun,
    ) -> Result<Begun, Failure> {
        let generation = local.generation();
        let parts = Parts::of(generation.bytes);
        if !parts.proceed() {
            return Ok(begun);
        }
        let mut kept = BTreeSet::new();
        for (number, known) in self.journal.ahead(recording.id)? {
            if number < parts.count() && digest(&local.read(parts.range(number))?)[..] == known {
                kept.insert(number);
            }
            // Lets the thread end in between.
            yield_now().await;
        }
        let begun = Begun {
            generation,
            path: recording.path.clone(),
            ..begun
        };
        self.journal.begin_with(recording.id, &begun, &kept)?;
        Ok(begun)
    }

    /// Sends the missing parts from `first` on, and returns the tags of all parts that have arrived.
    async fn send(
        &self,
        object: Object<'_>,
        local: &Local,
        parts: Parts,
        first: u32,
    ) -> Result<BTreeMap<u32, String>, Failure> {
        let Object { id, key, upload } = object;
        // For a file that is still being written, digests of the sent parts are kept.
        let is_open = first > 0;
        let mut tags = self.journal.parts(id)?;
        let missing: Vec<u32> = (first..parts.count())
            .filter(|number| !tags.contains_key(number))
            .collect();
        let mut missing = missing.into_iter();
        let mut flying = JoinSet::new();
        let mut failed = None;
        loop {
            // After a failure, parts in flight may still arrive.
            while failed.is_none() && flying.len() < PARTS_IN_FLIGHT {
                let Some(number) = missing.next() else {
                    break;
                };
                let body = local.read(parts.range(number))?;
                let digest = is_open.then(|| digest(&body));
                let bucket = self.bucket.clone();
                let (key, upload) = (key.to_owned(), upload.to_owned());
                flying.spawn(async move {
                    let sent = bucket.part(&key, &upload, number, body).await;
                    (number, digest, sent)
                });
            }
            match flying.join_next().await {
                Some(Ok((number, digest, Ok(tag)))) => {
                    self.journal.arrived(id, number, &tag, digest)?;
                    tags.insert(number, tag);
                }
                Some(Ok((_, _, Err(failure)))) => failed = failed.or(Some(failure)),
                Some(Err(error)) => {
                    failed = failed.or_else(|| Some(Failure::Storage(error.to_string())));
                }
                None => break,
            }
        }
        failed.map_or(Ok(tags), Err)
    }

    /// Records the start of an upload; `upload` is empty for one without a name.
    fn begin(
        &self,
        recording: &Recording,
        local: &Local,
        key: &str,
        upload: String,
    ) -> Result<(), Failure> {
        let begun = Begun {
            key: key.to_owned(),
            upload,
            generation: local.generation(),
            path: recording.path.clone(),
        };
        Ok(self.journal.begin(recording.id, &begun)?)
    }
}

/// Returns the expected tag of a file's copy, if the storage computes it as S3 does.
async fn tag_of(local: &Local, parts: Parts) -> Result<String, Failure> {
    let mut tags = Vec::new();
    for number in 0..parts.count() {
        tags.push(hex(&digest(&local.read(parts.range(number))?)));
        // Lets the thread end in between.
        yield_now().await;
    }
    let whole = match &mut tags[..] {
        [only] => Some(std::mem::take(only)),
        tags => composite_tag(tags.iter().map(String::as_str)),
    };
    Ok(whole.unwrap_or_default())
}

/// Whether two tags are equal.
pub(crate) fn same(one: &str, other: &str) -> bool {
    bare(one) == bare(other)
}
