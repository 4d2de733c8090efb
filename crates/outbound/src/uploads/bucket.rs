//! Operations on the bucket's objects.

use std::path::Component;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::signer::{SignedUrlOptions, Signer};
use object_store::{
    Attribute, Attributes, BackoffConfig, GetOptions, ObjectStore, ObjectStoreExt, PutMode,
    PutMultipartOptions, PutOptions, RetryConfig,
};
use recordings::Recording;

use crate::uploads::credentials::{self, CredentialsFile};
use crate::uploads::failure::Failure;
use crate::uploads::http::Http;
use crate::uploads::local::closed_path;
use crate::uploads::settings::Settings;

/// Most immediate retries of a request. Failures that last longer are reported, and retried more slowly.
const RETRIES: usize = 3;

/// Longest time for these retries.
const RETRY_TIME: Duration = Duration::from_secs(30);

/// Bucket of a storage. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Bucket {
    store: Arc<AmazonS3>,
    prefix: String,
    name: String,
    /// Start of its URLs: scheme, host and port.
    origin: String,
}

/// Parameters of a signed URL for an object.
#[derive(Clone, Debug)]
pub struct Link<'a> {
    /// Whether the URL is for `HEAD`, not `GET`.
    pub is_head: bool,
    /// Time for which the URL is valid.
    pub valid: Duration,
    /// `Content-Disposition` that the storage sends in its response.
    pub kept_as: Option<&'a str>,
}

/// Object properties reported by the storage.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Seen {
    pub(crate) bytes: u64,
    pub(crate) tag: String,
}

impl Bucket {
    /// Makes a bucket from the settings.
    ///
    /// # Errors
    /// Fails when the settings contradict each other.
    pub(crate) fn new(settings: &Settings, http: Http) -> object_store::Result<Self> {
        let retry = RetryConfig {
            backoff: BackoffConfig::default(),
            max_retries: RETRIES,
            retry_timeout: RETRY_TIME,
        };
        let mut builder = AmazonS3Builder::new()
            .with_http_connector(http)
            .with_retry(retry)
            .with_allow_http(true)
            .with_region(&settings.region)
            .with_bucket_name(&settings.bucket)
            .with_disable_bulk_delete(true);
        if let Some(endpoint) = &settings.endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        let builder = match &settings.credentials {
            Some(path) => builder.with_credentials(Arc::new(CredentialsFile(path.clone()))),
            None => credentials::of_environment(builder),
        };
        Ok(Self {
            store: Arc::new(builder.build()?),
            prefix: settings.prefix.clone(),
            name: settings.bucket.clone(),
            origin: origin(settings),
        })
    }

    /// Returns the object name of a recording: the prefix, the stream, and the last two path components of its file, which give
    /// its start.
    pub(crate) fn key(&self, recording: &Recording) -> String {
        let path = closed_path(recording);
        let names = path.components().rev().take(2);
        let mut names: Vec<_> = names
            .filter_map(|name| match name {
                Component::Normal(name) => Some(name.to_string_lossy()),
                _ => None,
            })
            .collect();
        names.reverse();
        let stream = recording.stream.as_str();
        let name = format!("{stream}/{}", names.join("/"));
        match self.prefix.is_empty() {
            true => name,
            false => format!("{}/{name}", self.prefix),
        }
    }

    /// Returns the name of the bucket.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the location of an object in the notation of AWS tools.
    pub(crate) fn location(&self, key: &str) -> String {
        format!("s3://{}/{key}", self.name)
    }

    /// Requests the properties of an object; `None` if the object or the bucket does not exist.
    pub(crate) async fn head(&self, key: &str) -> Result<Option<Seen>, Failure> {
        let options = GetOptions::new().with_head(true);
        match self.store.get_opts(&path(key)?, options).await {
            Ok(reported) => Ok(Some(Seen {
                bytes: reported.meta.size,
                tag: reported.meta.e_tag.unwrap_or_default(),
            })),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Stores an object with one request, and returns its tag. With `is_new`, no object may have its name, if the storage
    /// supports such requests.
    pub(crate) async fn put(
        &self,
        key: &str,
        media_type: &'static str,
        body: Bytes,
        is_new: bool,
    ) -> Result<String, Failure> {
        let path = path(key)?;
        let put = |mode| {
            let options = PutOptions {
                mode,
                attributes: attributes(media_type),
                ..PutOptions::default()
            };
            self.store.put_opts(&path, body.clone().into(), options)
        };
        let mode = match is_new {
            true => PutMode::Create,
            false => PutMode::Overwrite,
        };
        let stored = match put(mode).await {
            Err(error) if is_new && is_not_implemented(&error) => put(PutMode::Overwrite).await,
            stored => stored,
        };
        Ok(stored?.e_tag.unwrap_or_default())
    }

    /// Starts a multipart upload, and returns its name.
    pub(crate) async fn begin(
        &self,
        key: &str,
        media_type: &'static str,
    ) -> Result<String, Failure> {
        let options = PutMultipartOptions {
            attributes: attributes(media_type),
            ..PutMultipartOptions::default()
        };
        Ok(self
            .store
            .create_multipart_opts(&path(key)?, options)
            .await?)
    }

    /// Sends a part, and returns its tag.
    pub(crate) async fn part(
        &self,
        key: &str,
        upload: &str,
        number: u32,
        body: Bytes,
    ) -> Result<String, Failure> {
        let (path, upload) = (path(key)?, upload.to_owned());
        let part = self
            .store
            .put_part(&path, &upload, number as usize, body.into());
        Ok(part.await?.content_id)
    }

    /// Assembles an object from all its parts, and returns its tag.
    pub(crate) async fn complete(
        &self,
        key: &str,
        upload: &str,
        tags: impl Iterator<Item = String>,
    ) -> Result<String, Failure> {
        let parts = tags.map(|content_id| PartId { content_id }).collect();
        let (path, upload) = (path(key)?, upload.to_owned());
        let put = self.store.complete_multipart(&path, &upload, parts).await;
        Ok(put?.e_tag.unwrap_or_default())
    }

    /// Cancels a multipart upload.
    pub(crate) async fn abort(&self, key: &str, upload: &str) -> Result<(), Failure> {
        let upload = upload.to_owned();
        match self.store.abort_multipart(&path(key)?, &upload).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes an object, if there is one.
    pub(crate) async fn remove(&self, key: &str) -> Result<(), Failure> {
        match self.store.delete(&path(key)?).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the common start of all objects' URLs.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns a signed URL at which anyone may fetch an object for a limited time.
    pub(crate) async fn link(&self, key: &str, link: &Link<'_>) -> Result<String, Failure> {
        let method = match link.is_head {
            true => ::http::Method::HEAD,
            false => ::http::Method::GET,
        };
        let reported = link
            .kept_as
            .map(|name| ("response-content-disposition", name));
        let options = SignedUrlOptions::new().with_query(reported);
        let (path, valid) = (path(key)?, link.valid);
        let url = self.store.signed_url_opts(method, &path, valid, &options);
        Ok(url.await?.into())
    }
}

fn origin(settings: &Settings) -> String {
    match &settings.endpoint {
        Some(endpoint) => endpoint.trim_end_matches('/').to_owned(),
        None => format!("https://s3.{}.amazonaws.com", settings.region),
    }
}

fn path(key: &str) -> Result<Path, Failure> {
    // Stream names and checked prefixes are always valid here.
    Path::parse(key).map_err(|error| Failure::Storage(error.to_string()))
}

fn attributes(media_type: &'static str) -> Attributes {
    [(Attribute::ContentType, media_type)].into_iter().collect()
}

fn is_not_implemented(error: &object_store::Error) -> bool {
    matches!(error, object_store::Error::NotImplemented { .. })
        || error.to_string().contains("501 Not Implemented")
}
