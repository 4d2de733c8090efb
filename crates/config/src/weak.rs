//! Secrets that are easy to guess.

/// Length of the shortest secret, in characters: eight out of sixty-two cannot be guessed over a network in any useful time.
const LENGTH_MIN: usize = 8;

/// Words that attackers try first, among them those of other servers' sample configurations. With digits or punctuation around
/// them they are no better.
const WORDS: &str = "\
    admin adminadmin adminpass administrator broadcast broadcaster carillon changeit changeme \
    changemenow default hackme hackmehackme icecast iloveyou letmein livestream master \
    mypassword password passw0rd publish publishkey qwerty qwertyuiop radio secret secretkey \
    shoutcast source sourcepassword stream streamkey test testtest welcome yourpassword";

/// Returns the reason why a secret is easy to guess. The text does not repeat it.
pub(super) fn weakness(secret: &str) -> Option<&'static str> {
    if secret.contains(char::is_control) {
        return Some("holds a control character");
    }
    if secret.chars().count() < LENGTH_MIN {
        return Some(
            "is shorter than 8 characters; change a shorter one of another server in the encoders, too",
        );
    }
    let lower = secret.to_lowercase();
    let core = lower.trim_matches(|c: char| !c.is_alphabetic());
    let squeezed: String = core.chars().filter(|c| c.is_alphanumeric()).collect();
    if WORDS.split(' ').any(|word| word == squeezed) {
        return Some("is among the first that attackers try");
    }
    let characters: Vec<char> = lower.chars().collect();
    let steps = |by: i64| {
        characters
            .windows(2)
            .all(|pair| i64::from(u32::from(pair[1])) - i64::from(u32::from(pair[0])) == by)
    };
    if core.is_empty() && secret.chars().count() < 12 || steps(0) || steps(1) || steps(-1) {
        return Some("is a row of digits or of the same character");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weak_secrets_are_distinguished_from_others() {
        for weak in "hackme|short|password|Password1|hackme123|**changeme**|change-me|12345678|\
                     87654321|aaaaaaaaaaaa|abcdefghij|12341234|with\nnewline"
            .split('|')
        {
            assert!(weakness(weak).is_some(), "{weak}");
        }
        for fine in "correct horse|x7Kq-92mPz|sourcerer's apprentice|пароль-у-нас".split('|')
        {
            assert_eq!(weakness(fine), None, "{fine}");
        }
    }
}
