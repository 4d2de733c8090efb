//! Tells the hook that publishers come and go, whoever has permitted them.

use crate::hook::asker::Asker;

/// What has become of a stream's publisher.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mount {
    /// It has come.
    Added,
    /// It has left.
    Removed,
}

impl Asker {
    /// Whether the hook is told of publishers.
    pub fn tells_of_mounts(&self) -> bool {
        self.settings.mount_url.is_some() && self.settings.dialect.tells_of_mounts()
    }

    /// Tells of one, again if there is no answer. Whoever calls it waits before telling of the next, so that they arrive in order.
    pub async fn tell_of_mount(&self, stream: &str, mount: Mount) {
        let Some(url) = self.settings.mount_url.as_ref() else {
            return;
        };
        let (dialect, host) = (self.settings.dialect, &self.settings.host);
        let body = || dialect.mount(stream, mount, host);
        if let Err(error) = self.post_again(url, body).await {
            tracing::warn!(stream, ?mount, %error, "the hook for permissions could not be told of a publisher");
        }
    }
}
