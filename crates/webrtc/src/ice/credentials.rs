//! Names and passwords of ICE sessions.

/// Number of random bytes that [`Credentials::generate`] turns into a name and a password.
pub const RANDOM_LEN: usize = UFRAG_LEN + PASSWORD_LEN;

/// Characters of our names: 96 bits, so that no session can be found by guessing.
const UFRAG_LEN: usize = 16;

/// Characters of our passwords: 144 bits; 128 is the minimum (RFC 8839 §5.4).
const PASSWORD_LEN: usize = 24;

/// Largest number of characters that a peer may choose (RFC 8839 §5.4).
const LEN_MAX: usize = 256;

/// A name and its password, of either side. The password is never printed.
#[derive(Clone, Eq, PartialEq)]
pub struct Credentials {
    ufrag: Box<str>,
    password: Box<str>,
}

impl Credentials {
    /// Creates a name and a password from random bytes; each byte gives six bits.
    pub fn generate(random: &[u8; RANDOM_LEN]) -> Self {
        let text = |bytes: &[u8]| -> Box<str> {
            let characters: String = bytes.iter().map(|byte| ice_char(*byte)).collect();
            characters.into()
        };
        let (ufrag, password) = random.split_at(UFRAG_LEN);
        Self {
            ufrag: text(ufrag),
            password: text(password),
        }
    }

    /// Takes a peer's choice: 4 to 256 and 22 to 256 ICE characters. `None` if it is not well formed.
    pub fn parse(ufrag: &str, password: &str) -> Option<Self> {
        (well_formed(ufrag, 4) && well_formed(password, 22)).then(|| Self {
            ufrag: ufrag.into(),
            password: password.into(),
        })
    }

    /// Returns the name.
    pub fn ufrag(&self) -> &str {
        &self.ufrag
    }

    /// Returns the password.
    pub fn password(&self) -> &str {
        &self.password
    }
}

base::debug!(Credentials { ufrag });

fn well_formed(text: &str, len_min: usize) -> bool {
    // Some clients write `-` and `_`, which the grammar lacks but other servers accept.
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"+/-_=".contains(&byte);
    (len_min..=LEN_MAX).contains(&text.len()) && text.bytes().all(allowed)
}

fn ice_char(byte: u8) -> char {
    const CHARACTERS: &[u8; 64] =
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char::from(CHARACTERS[usize::from(byte & 63)])
}
