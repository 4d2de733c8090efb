//! When one listener received media, and how much.

/// What a listener has received so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reception {
    /// When it connected, time of the load.
    pub(crate) began: u64,
    /// The first media has come, or the permission to send some.
    pub(crate) has_media: bool,
    /// When bytes last arrived, or the first media.
    last: u64,
    /// The longest wait, since the window began if it has.
    longest: u64,
    /// The longest wait before that.
    longest_before: u64,
    /// For pictures alone, where packets show what they carry: when one last arrived, and the longest wait
    /// for the next, since the window began if it has.
    picture: Option<u64>,
    longest_picture: u64,
    pub(crate) bytes: u64,
    /// The bytes it had when the window began, if it was there.
    base: Option<u64>,
}

impl Reception {
    /// For a listener that connects now.
    pub(crate) fn new(began: u64) -> Self {
        Self {
            began,
            last: began,
            ..Self::default()
        }
    }

    /// The first media arrived. The wait for it is no gap.
    pub(crate) fn begin(&mut self, bytes: usize, now: u64) {
        self.has_media = true;
        self.last = now;
        self.bytes = bytes as u64;
    }

    /// `bytes` arrived. Returns how long the listener waited for them.
    pub(crate) fn hear(&mut self, bytes: usize, now: u64) -> u64 {
        self.bytes += bytes as u64;
        let wait = now.saturating_sub(self.last);
        self.longest = self.longest.max(wait);
        self.last = now.max(self.last);
        wait
    }

    /// A packet of a picture arrived.
    pub(crate) fn see(&mut self, now: u64) {
        if let Some(last) = self.picture.replace(now) {
            let wait = now.saturating_sub(last);
            self.longest_picture = self.longest_picture.max(wait);
        }
    }

    /// Measures bytes and waits from here on.
    pub(crate) fn begin_window(&mut self) {
        self.base = Some(self.bytes);
        self.longest_before = std::mem::take(&mut self.longest);
        self.longest_picture = 0;
    }

    /// Bits per second since the window began `seconds` ago, if the listener was there then.
    pub(crate) fn rate(&self, seconds: f64) -> Option<u64> {
        let bits = (self.bytes - self.base?) as f64 * 8.0;
        Some((bits / seconds) as u64)
    }

    /// The longest it has waited by `now`: at all, and of the waits that reached into the window.
    pub(crate) fn longest_waits(&self, now: u64) -> (u64, u64) {
        let lately = self.longest.max(now.saturating_sub(self.last));
        (lately.max(self.longest_before), lately)
    }

    /// The longest wait by `now` for the next packet of a picture, of the waits that reached into the window.
    /// `None` if no picture ever arrived.
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
    fn sound_does_not_end_a_wait_for_pictures() {
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
