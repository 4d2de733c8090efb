//! Values of this server's configuration, in TOML.

/// A value that a key can have.
pub(crate) trait Value {
    /// Returns the value as TOML.
    fn toml(&self) -> String;
}

/// Control characters are escaped, as TOML requires.
impl Value for str {
    fn toml(&self) -> String {
        let mut quoted = String::from("\"");
        for character in self.chars() {
            match character {
                '"' | '\\' => quoted.extend(['\\', character]),
                _ if character.is_control() => {
                    quoted.push_str(&format!("\\u{:04X}", u32::from(character)))
                }
                _ => quoted.push(character),
            }
        }
        quoted.push('"');
        quoted
    }
}

impl Value for String {
    fn toml(&self) -> String {
        self.as_str().toml()
    }
}

impl Value for bool {
    fn toml(&self) -> String {
        self.to_string()
    }
}

impl Value for u64 {
    fn toml(&self) -> String {
        self.to_string()
    }
}

impl<T: Value> Value for [T] {
    fn toml(&self) -> String {
        let values: Vec<_> = self.iter().map(Value::toml).collect();
        format!("[{}]", values.join(", "))
    }
}

impl<T: Value + ?Sized> Value for &T {
    fn toml(&self) -> String {
        (**self).toml()
    }
}

/// Makes words fit for a comment: one line without control characters.
pub(crate) fn comment(words: &str) -> String {
    let shown = |character: char| {
        if character.is_control() {
            ' '
        } else {
            character
        }
    };
    words.chars().map(shown).collect()
}

/// Returns a time in the longest unit that divides it.
pub(crate) fn time(millis: u64) -> String {
    for (unit, length) in [("h", 3_600_000), ("m", 60_000), ("s", 1_000)] {
        if millis != 0 && millis.is_multiple_of(length) {
            return format!("{}{unit}", millis / length);
        }
    }
    match millis {
        0 => "0s".to_owned(),
        _ => format!("{millis}ms"),
    }
}

/// Parses a time such as `10s`, `1m30s`, `200ms`, `0.5s` or `1d` to milliseconds; a number without a unit counts in units of
/// `unit` milliseconds.
pub(crate) fn millis(value: &str, unit: f64) -> Option<u64> {
    let mut rest = value.trim();
    let mut total = 0.0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(rest.len());
        let (number, behind) = rest.split_at(digits);
        let number: f64 = number.parse().ok()?;
        let letters = behind
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(behind.len());
        let (name, behind) = behind.split_at(letters);
        total += number
            * match name {
                "ms" => 1.0,
                "" => unit,
                "s" | "sec" => 1e3,
                "m" | "min" => 6e4,
                "h" => 3.6e6,
                "d" => 8.64e7,
                "w" => 6.048e8,
                _ => return None,
            };
        rest = behind.trim_start();
    }
    // Longer times are probably mistakes; the check refuses those that are too long here.
    (total < 1e15).then_some(total.round() as u64)
}

/// Returns an address to listen on from `1935`, `:1935`, `*:1935`, `0.0.0.0:1935` or `[::]:1935`.
pub(crate) fn address(value: &str) -> String {
    let value = value.trim();
    let port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let behind = value
        .strip_prefix(':')
        .or_else(|| value.strip_prefix("*:"))
        .unwrap_or(value);
    match port(behind) {
        true => format!("0.0.0.0:{behind}"),
        false => value.to_owned(),
    }
}

/// Returns whether a text is the address of a host.
pub(crate) fn is_ip(value: &str) -> bool {
    value.parse::<std::net::IpAddr>().is_ok()
}

/// Returns the directory before the first variable part of a path: one with `%`, `[`, `{` or `$`.
pub(crate) fn directory(path: &str) -> String {
    let cut = path.find(['%', '[', '{', '$']).unwrap_or(path.len());
    match path[..cut].rfind('/') {
        Some(0) => "/".to_owned(),
        Some(at) => path[..at].to_owned(),
        None => ".".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_toml_has_them() {
        assert_eq!("a\"b\\c\n".toml(), "\"a\\\"b\\\\c\\u000A\"");
        assert_eq!(["a", "b"].toml(), "[\"a\", \"b\"]");
        assert_eq!(comment("a\nb\u{7f}"), "a b ");
        for (millis, shown) in [
            (0, "0s"),
            (1_500, "1500ms"),
            (30_000, "30s"),
            (5_400_000, "90m"),
            (86_400_000, "24h"),
        ] {
            assert_eq!(time(millis), shown);
        }
    }

    #[test]
    fn values_of_others_are_read() {
        for (value, expected) in [
            ("10s", Some(10_000)),
            ("10", Some(10_000)),
            ("1m30s", Some(90_000)),
            ("0.5", Some(500)),
            ("1d", Some(86_400_000)),
            ("200ms", Some(200)),
            ("", None),
            ("soon", None),
            ("-1", None),
            ("9999999999999999999999w", None),
        ] {
            assert_eq!(millis(value, 1e3), expected, "{value}");
        }
        for (value, expected) in [
            ("1935", "0.0.0.0:1935"),
            (":8888", "0.0.0.0:8888"),
            ("*:80", "0.0.0.0:80"),
            ("[::]:1935", "[::]:1935"),
            ("10.0.0.1:80", "10.0.0.1:80"),
        ] {
            assert_eq!(address(value), expected);
        }
        for (path, expected) in [
            ("/tmp/a-%Y.mp3", "/tmp"),
            ("./objs/[app]/[stream].flv", "./objs"),
            ("%path/x", "."),
            ("/rec/file.flv", "/rec"),
        ] {
            assert_eq!(directory(path), expected);
        }
    }
}
