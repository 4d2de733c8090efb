//! The character sets of radio software, which is older than UTF-8.
//!
//! All but UTF-8 have one byte for each character, and the first 128 are those of ASCII. The tables follow the WHATWG Encoding
//! Standard; a byte without a character is a control character, or the replacement character.

/// A character set.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Charset {
    /// UTF-8.
    #[default]
    Utf8,
    /// Central Europe.
    Windows1250,
    /// Cyrillic.
    Windows1251,
    /// Western Europe; what is called Latin-1 means this (WHATWG Encoding, label `latin1`).
    Windows1252,
    /// Greek.
    Windows1253,
    /// Turkish.
    Windows1254,
    /// Baltic.
    Windows1257,
    /// Central Europe.
    Iso2,
    /// Cyrillic.
    Iso5,
    /// Greek.
    Iso7,
    /// Western Europe, with the euro sign.
    Iso15,
    /// Russian.
    Koi8R,
    /// Ukrainian.
    Koi8U,
}

impl Charset {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Utf8,
        Self::Windows1250,
        Self::Windows1251,
        Self::Windows1252,
        Self::Windows1253,
        Self::Windows1254,
        Self::Windows1257,
        Self::Iso2,
        Self::Iso5,
        Self::Iso7,
        Self::Iso15,
        Self::Koi8R,
        Self::Koi8U,
    ];

    /// Its name.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Windows1250 => "windows-1250",
            Self::Windows1251 => "windows-1251",
            Self::Windows1252 => "windows-1252",
            Self::Windows1253 => "windows-1253",
            Self::Windows1254 => "windows-1254",
            Self::Windows1257 => "windows-1257",
            Self::Iso2 => "iso-8859-2",
            Self::Iso5 => "iso-8859-5",
            Self::Iso7 => "iso-8859-7",
            Self::Iso15 => "iso-8859-15",
            Self::Koi8R => "koi8-r",
            Self::Koi8U => "koi8-u",
        }
    }

    /// The one that a name means, by which programs and people call it.
    pub fn from_label(label: &str) -> Option<Self> {
        let label = label.trim().to_ascii_lowercase().replace('_', "-");
        let known = match label.as_str() {
            "utf8" => "utf-8",
            "iso-8859-1" | "iso8859-1" | "latin1" | "latin-1" | "cp1252" | "us-ascii" => {
                "windows-1252"
            }
            // These two differ from the Windows set in control characters, and in six letters.
            "iso-8859-9" | "iso8859-9" | "latin5" => "windows-1254",
            "cp1250" => "windows-1250",
            "cp1251" => "windows-1251",
            "cp1253" => "windows-1253",
            "cp1254" => "windows-1254",
            "cp1257" => "windows-1257",
            "iso8859-2" | "latin2" => "iso-8859-2",
            "iso8859-5" => "iso-8859-5",
            "iso8859-7" => "iso-8859-7",
            "iso8859-15" | "latin9" | "latin-9" => "iso-8859-15",
            other => other,
        };
        Self::ALL.into_iter().find(|one| one.label() == known)
    }

    /// Text in this character set. What is not UTF-8 although it should be is taken as windows-1252.
    pub fn decode(self, bytes: &[u8]) -> String {
        let Some(upper) = self.upper() else {
            return match str::from_utf8(bytes) {
                Ok(text) => text.to_owned(),
                Err(_) => Self::Windows1252.decode(bytes),
            };
        };
        let character = |byte: &u8| match byte {
            0x80.. => upper
                .chars()
                .nth(usize::from(byte - 0x80))
                .unwrap_or_default(),
            _ => char::from(*byte),
        };
        bytes.iter().map(character).collect()
    }

    /// Text as UTF-8 where it is, and otherwise in this character set: hardly any text in another is valid UTF-8 by chance.
    pub fn decode_unless_utf8(self, bytes: &[u8]) -> String {
        match str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => self.decode(bytes),
        }
    }

    /// A character in this character set; `?` if it has none.
    pub fn encode(self, character: char, out: &mut Vec<u8>) {
        let Some(upper) = self.upper().filter(|_| !character.is_ascii()) else {
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            return;
        };
        let at = upper.chars().position(|one| one == character);
        let byte = at.filter(|_| character != char::REPLACEMENT_CHARACTER);
        out.push(byte.map_or(b'?', |at| at as u8 + 0x80));
    }

    /// The characters of the bytes from 0x80 on; `None` of UTF-8.
    const fn upper(self) -> Option<&'static str> {
        Some(match self {
            Self::Utf8 => return None,
            Self::Windows1250 => WINDOWS1250,
            Self::Windows1251 => WINDOWS1251,
            Self::Windows1252 => WINDOWS1252,
            Self::Windows1253 => WINDOWS1253,
            Self::Windows1254 => WINDOWS1254,
            Self::Windows1257 => WINDOWS1257,
            Self::Iso2 => ISO2,
            Self::Iso5 => ISO5,
            Self::Iso7 => ISO7,
            Self::Iso15 => ISO15,
            Self::Koi8R => KOI8R,
            Self::Koi8U => KOI8U,
        })
    }
}

const WINDOWS1250: &str = "\
    €\u{81}‚\u{83}„…†‡\u{88}‰Š‹ŚŤŽŹ\u{90}‘’“”•–—\u{98}™š›śťžź\
     \u{a0}ˇ˘Ł¤Ą¦§¨©Ş«¬\u{ad}®Ż°±˛ł´µ¶·¸ąş»Ľ˝ľż\
     ŔÁÂĂÄĹĆÇČÉĘËĚÍÎĎĐŃŇÓÔŐÖ×ŘŮÚŰÜÝŢß\
     ŕáâăäĺćçčéęëěíîďđńňóôőö÷řůúűüýţ˙";

const WINDOWS1251: &str = "\
    ЂЃ‚ѓ„…†‡€‰Љ‹ЊЌЋЏђ‘’“”•–—\u{98}™љ›њќћџ\
     \u{a0}ЎўЈ¤Ґ¦§Ё©Є«¬\u{ad}®Ї°±Ііґµ¶·ё№є»јЅѕї\
     АБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯ\
     абвгдежзийклмнопрстуфхцчшщъыьэюя";

const WINDOWS1252: &str = "\
    €\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ\
     \u{a0}¡¢£¤¥¦§¨©ª«¬\u{ad}®¯°±²³´µ¶·¸¹º»¼½¾¿\
     ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞß\
     àáâãäåæçèéêëìíîïðñòóôõö÷øùúûüýþÿ";

const WINDOWS1253: &str = "\
    €\u{81}‚ƒ„…†‡\u{88}‰\u{8a}‹\u{8c}\u{8d}\u{8e}\u{8f}\u{90}‘’“”•–—\u{98}™\u{9a}›\u{9c}\u{9d}\u{9e}\u{9f}\
     \u{a0}΅Ά£¤¥¦§¨©\u{fffd}«¬\u{ad}®―°±²³΄µ¶·ΈΉΊ»Ό½ΎΏ\
     ΐΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡ\u{fffd}ΣΤΥΦΧΨΩΪΫάέήί\
     ΰαβγδεζηθικλμνξοπρςστυφχψωϊϋόύώ\u{fffd}";

const WINDOWS1254: &str = "\
    €\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}\u{8e}\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}\u{9e}Ÿ\
     \u{a0}¡¢£¤¥¦§¨©ª«¬\u{ad}®¯°±²³´µ¶·¸¹º»¼½¾¿\
     ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏĞÑÒÓÔÕÖ×ØÙÚÛÜİŞß\
     àáâãäåæçèéêëìíîïğñòóôõö÷øùúûüışÿ";

const WINDOWS1257: &str = "\
    €\u{81}‚\u{83}„…†‡\u{88}‰\u{8a}‹\u{8c}¨ˇ¸\u{90}‘’“”•–—\u{98}™\u{9a}›\u{9c}¯˛\u{9f}\
     \u{a0}\u{fffd}¢£¤\u{fffd}¦§Ø©Ŗ«¬\u{ad}®Æ°±²³´µ¶·ø¹ŗ»¼½¾æ\
     ĄĮĀĆÄÅĘĒČÉŹĖĢĶĪĻŠŃŅÓŌÕÖ×ŲŁŚŪÜŻŽß\
     ąįāćäåęēčéźėģķīļšńņóōõö÷ųłśūüżž˙";

const ISO2: &str = "\
    \u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\u{8e}\u{8f}\u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\u{9c}\u{9d}\u{9e}\u{9f}\
     \u{a0}Ą˘Ł¤ĽŚ§¨ŠŞŤŹ\u{ad}ŽŻ°ą˛ł´ľśˇ¸šşťź˝žż\
     ŔÁÂĂÄĹĆÇČÉĘËĚÍÎĎĐŃŇÓÔŐÖ×ŘŮÚŰÜÝŢß\
     ŕáâăäĺćçčéęëěíîďđńňóôőö÷řůúűüýţ˙";

const ISO5: &str = "\
    \u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\u{8e}\u{8f}\u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\u{9c}\u{9d}\u{9e}\u{9f}\
     \u{a0}ЁЂЃЄЅІЇЈЉЊЋЌ\u{ad}ЎЏАБВГДЕЖЗИЙКЛМНОП\
     РСТУФХЦЧШЩЪЫЬЭЮЯабвгдежзийклмноп\
     рстуфхцчшщъыьэюя№ёђѓєѕіїјљњћќ§ўџ";

const ISO7: &str = "\
    \u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\u{8e}\u{8f}\u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\u{9c}\u{9d}\u{9e}\u{9f}\
     \u{a0}‘’£€₯¦§¨©ͺ«¬\u{ad}\u{fffd}―°±²³΄΅Ά·ΈΉΊ»Ό½ΎΏ\
     ΐΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡ\u{fffd}ΣΤΥΦΧΨΩΪΫάέήί\
     ΰαβγδεζηθικλμνξοπρςστυφχψωϊϋόύώ\u{fffd}";

const ISO15: &str = "\
    \u{80}\u{81}\u{82}\u{83}\u{84}\u{85}\u{86}\u{87}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{8d}\u{8e}\u{8f}\u{90}\u{91}\u{92}\u{93}\u{94}\u{95}\u{96}\u{97}\u{98}\u{99}\u{9a}\u{9b}\u{9c}\u{9d}\u{9e}\u{9f}\
     \u{a0}¡¢£€¥Š§š©ª«¬\u{ad}®¯°±²³Žµ¶·ž¹º»ŒœŸ¿\
     ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖ×ØÙÚÛÜÝÞß\
     àáâãäåæçèéêëìíîïðñòóôõö÷øùúûüýþÿ";

const KOI8R: &str = "\
    ─│┌┐└┘├┤┬┴┼▀▄█▌▐░▒▓⌠■∙√≈≤≥\u{a0}⌡°²·÷\
     ═║╒ё╓╔╕╖╗╘╙╚╛╜╝╞╟╠╡Ё╢╣╤╥╦╧╨╩╪╫╬©\
     юабцдефгхийклмнопярстужвьызшэщчъ\
     ЮАБЦДЕФГХИЙКЛМНОПЯРСТУЖВЬЫЗШЭЩЧЪ";

const KOI8U: &str = "\
    ─│┌┐└┘├┤┬┴┼▀▄█▌▐░▒▓⌠■∙√≈≤≥\u{a0}⌡°²·÷\
     ═║╒ёє╔ії╗╘╙╚╛ґ╝╞╟╠╡ЁЄ╣ІЇ╦╧╨╩╪Ґ╬©\
     юабцдефгхийклмнопярстужвьызшэщчъ\
     ЮАБЦДЕФГХИЙКЛМНОПЯРСТУЖВЬЫЗШЭЩЧЪ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_a_character_and_comes_back() {
        for charset in Charset::ALL {
            let Some(upper) = charset.upper() else {
                continue;
            };
            assert_eq!(upper.chars().count(), 128, "{charset:?}");
            for byte in 0x80..=0xFF_u8 {
                let text = charset.decode(&[byte]);
                let mut bytes = Vec::new();
                text.chars().for_each(|one| charset.encode(one, &mut bytes));
                let is_known = text != "\u{fffd}";
                assert_eq!(bytes, [if is_known { byte } else { b'?' }], "{charset:?}");
            }
            assert_eq!(Charset::from_label(charset.label()), Some(charset));
        }
    }

    #[test]
    fn texts_are_read_and_written() {
        for (charset, bytes, text) in [
            (
                Charset::Windows1251,
                &b"\xcf\xf0\xe8\xe2\xe5\xf2"[..],
                "Привет",
            ),
            (Charset::Koi8R, b"\xf0\xd2\xc9\xd7\xc5\xd4", "Привет"),
            (
                Charset::Windows1252,
                b"Bj\xf6rk \x96 J\xf3ga",
                "Björk – Jóga",
            ),
            (Charset::Windows1250, b"\x8akoda \xbeu\x9d", "Škoda ľuť"),
            (Charset::Iso7, b"\xc1\xe8\xde\xed\xe1", "Αθήνα"),
            (Charset::Utf8, "Björk".as_bytes(), "Björk"),
        ] {
            assert_eq!(charset.decode(bytes), text, "{charset:?}");
            let mut written = Vec::new();
            text.chars()
                .for_each(|one| charset.encode(one, &mut written));
            assert_eq!(written, bytes, "{charset:?}");
        }
        assert_eq!(Charset::Utf8.decode(b"Bj\xf6rk"), "Björk");
        let mixed = Charset::Windows1251.decode_unless_utf8("Björk".as_bytes());
        assert_eq!(mixed, "Björk");
        let mut out = Vec::new();
        "a♫ö"
            .chars()
            .for_each(|one| Charset::Windows1251.encode(one, &mut out));
        assert_eq!(out, b"a??");
    }

    #[test]
    fn names_are_those_of_programs() {
        for (label, charset) in [
            ("UTF-8", Some(Charset::Utf8)),
            ("ISO8859-1", Some(Charset::Windows1252)),
            ("iso_8859-1", Some(Charset::Windows1252)),
            ("Latin1", Some(Charset::Windows1252)),
            ("CP1251", Some(Charset::Windows1251)),
            ("KOI8-R", Some(Charset::Koi8R)),
            ("klingon", None),
            ("", None),
        ] {
            assert_eq!(Charset::from_label(label), charset, "{label}");
        }
    }
}
