//! A player, its two connections, and the media they have received.

use super::client::Connection;
use super::judge::Judge;
use super::parser::PLAYLIST_BYTES_MAX;
use super::player::Player;
use super::record::Record;
use super::request::Request;
use crate::reading::Keep;

/// Maximum length of a checked segment in bytes: ten seconds at 25 Mb/s.
const MEDIA_BYTES_MAX: usize = 32 << 20;

/// Purpose of a player's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Channel {
    Playlists,
    Media,
}

/// A player with its connections. There are thousands in a process.
#[derive(Debug)]
pub(crate) struct Viewer {
    pub(super) player: Player,
    /// Connections by channel.
    pub(super) connections: [Connection; 2],
    /// Checker of the media; `None` for a player that is not checked.
    pub(super) judge: Option<Box<Judge>>,
}

impl Channel {
    /// All channels, media first: a player waits for it.
    pub(super) const ALL: [Self; 2] = [Self::Media, Self::Playlists];

    /// Returns the token of this channel's events for the player at `place`.
    pub(super) fn token(self, place: usize) -> usize {
        place * Self::ALL.len() + self as usize
    }

    pub(super) fn of_token(token: usize) -> (usize, Self) {
        let channel = match token % Self::ALL.len() {
            0 => Self::Playlists,
            _ => Self::Media,
        };
        (token / Self::ALL.len(), channel)
    }
}

impl Viewer {
    /// Returns the player's request on a channel, and how much of the response it needs.
    pub(super) fn request(
        &mut self,
        channel: Channel,
        now: u64,
        record: &mut Record,
    ) -> Option<(Request, Keep)> {
        match channel {
            Channel::Playlists => {
                let request = self.player.playlist_request(now)?;
                Some((request, Keep::All(PLAYLIST_BYTES_MAX)))
            }
            Channel::Media => {
                let request = self.player.media_request(now, record)?;
                let keep = match self.judge {
                    Some(_) => Keep::All(MEDIA_BYTES_MAX),
                    None => Keep::Start,
                };
                Some((request, keep))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::Member;

    #[test]
    fn a_player_is_small() {
        // Besides its path, the playlist that it shares, and its sockets in the kernel.
        assert!(size_of::<Option<Member<Viewer>>>() <= 800);
    }

    #[test]
    fn a_token_names_a_connection() {
        for place in [0, 1, 77] {
            for channel in Channel::ALL {
                let token = channel.token(place);
                assert_eq!(Channel::of_token(token), (place, channel));
            }
        }
    }
}
