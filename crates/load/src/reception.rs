//! Times and amounts of the media that a listener received.

/// Media that a listener has received so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reception {
    /// Time of the load at which the listener connected.
    pub(crate) began: u64,
    /// Whether the first media has arrived, or the permission to send some.
    pub(crate) has_media: bool,
    /// Time at which bytes last arrived, or the first media.
    last: u64,
    /// Longest wait, since the beginning of the window once it has begun.
    longest: u64,
    /// Longest wait before the window.
    longest_before: u64,
    /// For video alone, if packets show what they carry: the time of the last video packet, and the longest wait for the next
    /// one, since the beginning of the window once it has begun.
    picture: Option<u64>,
    longest_picture: u64,
    pub(crate) bytes: u64,
    /// Number of bytes received before the window began, if the listener was there.
    base: Option<u64>,
}

impl Reception {
    /// Creates the state of a listener that connects now.
    pub(crate) fn new(began: u64) -> Self {
        Self {
            began,
            last: began,
            ..Self::default()
        }
    }

    /// Records the first media. The wait for it does not count as a gap.
    pub(crate) fn begin(&mut self, bytes: usize, now: u64) {
        self.has_media = true;
        self.last = now;
        self.bytes = bytes as u64;
    }

    /// Records that `bytes` arrived. Returns how long the listener waited for them.
    pub(crate) fn hear(&mut self, bytes: usize, now: u64) -> u64 {
        self.bytes += bytes as u64;
        let wait = now.saturating_sub(self.last);
        self.longest = self.longest.max(wait);
        self.last = now.max(self.last);
        wait
    }

    /// Records a video packet.
    pub(crate) fn see(&mut self, now: u64) {
        if let Some(last) = self.picture.replace(now) {
            let wait = now.saturating_sub(last);
            self.longest_picture = self.longest_picture.max(wait);
        }
    }

    /// Begins the window: measures bytes and waits from here on.
    pub(crate) fn begin_window(&mut self) {
        self.base = Some(self.bytes);
        self.longest_before = std::mem::take(&mut self.longest);
        self.longest_picture = 0;
    }

    /// Returns bits per second since the window began `seconds` ago, if the listener was there then.
    pub(crate) fn rate(&self, seconds: f64) -> Option<u64> {
        let bits = (self.bytes - self.base?) as f64 * 8.0;
        Some((bits / seconds) as u64)
    }

    /// Returns the longest wait by `now`: overall, and among the waits that overlapped the window.
    pub(crate) fn longest_waits(&self, now: u64) -> (u64, u64) {
        let lately = self.longest.max(now.saturating_sub(self.last));
        (lately.max(self.longest_before), lately)
    }

    /// Returns the longest wait by `now` for the next video packet, among the waits that overlapped the window. `None` if no
    /// video ever arrived.
    pub(crate) fn longest_picture_wait(&self, now: u64) -> Option<u64> {
        let since = now.saturating_sub(self.picture?);
        Some(self.longest_picture.max(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_belongs_to_the_window_that_it_reaches_into() {
        let mut reception = Reception::new(0);
        reception.begin(0, 10);
        assert_eq!(reception.hear(1, 110), 100);
        reception.hear(1, 130);
        reception.begin_window();
        assert_eq!(reception.longest_waits(140), (100, 10));
        reception.hear(1, 170);
        assert_eq!(reception.longest_waits(170), (100, 40));
        reception.hear(1, 390);
        assert_eq!(reception.longest_waits(400), (220, 220));
        assert_eq!(reception.base, Some(2));
    }

    #[test]
    fn audio_does_not_end_a_wait_for_pictures() {
        let mut reception = Reception::new(0);
        reception.begin(0, 10);
        assert_eq!(reception.longest_picture_wait(50), None);
        reception.see(100);
        reception.see(400);
        reception.begin_window();
        reception.hear(1, 450);
        reception.see(500);
        reception.hear(1, 520);
        assert_eq!(reception.longest_picture_wait(530), Some(100));
        assert_eq!(reception.longest_picture_wait(700), Some(200));
    }
}
