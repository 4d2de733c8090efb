//! Rules of this repository that no compiler lint expresses, checked on the text of the sources.

mod folders;
mod passages;
mod paths;
mod words;

use std::path::Path;

use crate::report::Report;
use crate::run::{Failure, Workspace};
use crate::source;

/// A token that shipped code may use only in some paths.
struct Rule {
    token: &'static str,
    /// Path prefixes to which the rule applies; empty for every crate.
    within: &'static [&'static str],
    /// Path prefixes in which the token is allowed.
    except: &'static [&'static str],
    reason: &'static str,
}

/// Path prefixes of tiers 0 and 1: pure functions of bytes and arguments.
const SANS_IO: &[&str] = &[
    "crates/media/src/",
    "crates/container/src/",
    "crates/rtmp/src/",
    "crates/http1/src/",
];

/// Those, and crates above them that are driven by others: they know addresses, but open no sockets.
const DRIVEN: &[&str] = &[
    "crates/media/src/",
    "crates/container/src/",
    "crates/rtmp/src/",
    "crates/http1/src/",
    "crates/webrtc/src/",
];

/// The only module of those that drives its crate: it has sockets and threads.
const DRIVER: &str = "crates/webrtc/src/port/";

const RULES: &[Rule] = &[
    Rule {
        token: "unsafe",
        within: &[],
        except: &["crates/net/src/", "crates/log/src/"],
        reason: "unsafe lives in `net` and `log`",
    },
    Rule {
        token: "Instant::now",
        within: DRIVEN,
        except: &[DRIVER],
        reason: "time is an argument",
    },
    Rule {
        token: "SystemTime::now",
        within: DRIVEN,
        except: &[],
        reason: "time is an argument",
    },
    Rule {
        token: "std::net",
        within: SANS_IO,
        except: &[],
        reason: "protocol code opens no socket",
    },
    Rule {
        token: "std::thread",
        within: DRIVEN,
        except: &[DRIVER],
        reason: "protocol code spawns nothing",
    },
    Rule {
        token: "std::fs",
        within: DRIVEN,
        except: &[],
        reason: "protocol code reads no file",
    },
    Rule {
        token: "tokio::",
        within: &["crates/fanout/src/"],
        except: &["crates/fanout/src/join.rs", "crates/fanout/src/origin.rs"],
        reason: "workers know no runtime; of the core only joins and requests for other streams wait",
    },
    Rule {
        token: "unimplemented!",
        within: &[],
        except: &[],
        reason: "code is written when it is needed, not announced",
    },
];

/// Words that mean unfinished work or a disabled test, anywhere.
const BANNED: &[(&str, &str)] = &[
    ("#[ignore", "a test that does not run proves nothing"),
    ("TODO", "finish it or leave it out"),
    ("FIXME", "finish it or leave it out"),
    ("XXX", "finish it or leave it out"),
];

/// Number of lines without tests beyond which a file is worth splitting.
const LINES_WARN: usize = 800;
/// Number of lines beyond which a file must be split.
const LINES_MAX: usize = 1_000;

const FOLDERS: &[&str] = &[
    "crates",
    "benches",
    "tests",
    "fuzz/fuzz_targets",
    "fuzz/shared",
    "xtask",
];

/// Path of this file, which has to spell what it forbids.
const SELF: &str = "xtask/src/tidy/mod.rs";

pub(crate) fn check(workspace: &Workspace, report: &mut Report) -> Result<(), Failure> {
    let mut errors = Vec::new();
    let mut files = Vec::new();
    for folder in FOLDERS {
        let files_there = source::rust_files(&workspace.root.join(folder))
            .map_err(|error| Failure(format!("{folder}: {error}")))?;
        for path in files_there {
            let name = path.strip_prefix(&workspace.root).unwrap_or(&path);
            let text = std::fs::read_to_string(&path)?;
            if name != Path::new(SELF) {
                errors.extend(file_errors(&name.to_string_lossy(), &text));
                let words = words::errors(&text).into_iter();
                errors.extend(
                    words.map(|(line, error)| format!("{}:{line}: {error}", name.display())),
                );
            }
            files.push((name.to_string_lossy().into_owned(), text));
        }
    }
    errors.extend(passages::errors(&files));
    errors.extend(words::too_often(
        files.iter().map(|(_, text)| text.as_str()),
    ));
    errors.extend(folders::errors(&workspace.root)?);
    errors.extend(paths::errors(&workspace.root)?);
    if !errors.is_empty() {
        return Err(Failure(format!("\n  {}", errors.join("\n  "))));
    }
    println!("{} files are tidy", files.len());
    report.count(1, 0);
    Ok(())
}

fn file_errors(name: &str, text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for (word, reason) in BANNED {
            let found = if word.starts_with('#') {
                line.trim_start().starts_with(word)
            } else {
                source::has_word(line, word)
            };
            if found {
                errors.push(format!("{name}:{}: `{word}`: {reason}", number + 1));
            }
        }
    }
    if source::is_test_file(name) {
        return errors;
    }
    let shipped = source::without_tests(&source::code_only(text));
    for rule in RULES.iter().filter(|rule| rule.governs(name)) {
        for (number, line) in shipped.lines().enumerate() {
            if source::has_word(line, rule.token.trim_end_matches('!')) && line.contains(rule.token)
            {
                errors.push(format!(
                    "{name}:{}: `{}`: {}",
                    number + 1,
                    rule.token,
                    rule.reason
                ));
            }
        }
    }
    let lines = source::shipped_lines(text);
    if lines > LINES_MAX {
        errors.push(format!("{name}: {lines} lines, the limit is {LINES_MAX}"));
    } else if lines > LINES_WARN {
        println!("warning: {name}: {lines} lines; from {LINES_WARN} on a file wants splitting");
    }
    errors
}

impl Rule {
    fn governs(&self, name: &str) -> bool {
        (self.within.is_empty() || self.within.iter().any(|prefix| name.starts_with(prefix)))
            && !self.except.iter().any(|prefix| name.starts_with(prefix))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_held_to_their_paths() {
        let text = "fn f() { let t = Instant::now(); unsafe { g() } }";
        assert_eq!(file_errors("crates/rtmp/src/lib.rs", text).len(), 2);
        assert_eq!(file_errors("crates/fanout/src/worker.rs", text).len(), 1);
        assert_eq!(file_errors("crates/webrtc/src/mux/mod.rs", text).len(), 2);
        assert!(file_errors("crates/net/src/epoll.rs", text).is_empty());
        assert!(file_errors("crates/log/src/page.rs", text).is_empty());
    }

    #[test]
    fn tests_and_comments_may_say_what_they_like() {
        let text =
            "// unsafe Instant::now\n#[cfg(test)]\nmod tests { fn f() { std::thread::x() } }";
        assert!(file_errors("crates/rtmp/src/lib.rs", text).is_empty());
    }

    #[test]
    fn unfinished_work_is_found_in_comments_too() {
        assert_eq!(
            file_errors("crates/rtmp/src/lib.rs", "// TODO: later").len(),
            1
        );
        assert_eq!(
            file_errors("tests/scenarios/a.rs", "    #[ignore = \"slow\"]").len(),
            1
        );
    }

    #[test]
    fn length_counts_what_ships() {
        let body = "fn f() {}\n".repeat(LINES_MAX);
        let tests = "#[cfg(test)]\nmod tests {\nfn t() {}\n}\n";
        assert!(file_errors("crates/net/src/a.rs", &format!("{body}{tests}")).is_empty());
        assert_eq!(
            file_errors("crates/net/src/a.rs", &format!("{body}fn g() {{}}\n")).len(),
            1
        );
    }
}
