//! Configurations: whatever the text, the result is either a valid configuration or problems located within the text, and
//! displaying either never panics. A comment `#CARILLON__…=…` also acts as an environment variable.

#![no_main]

use config::{Config, Location};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &str| {
    let variables = source
        .lines()
        .filter_map(|line| line.strip_prefix('#')?.split_once('='));
    let environment = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    match Config::parse("fuzz.toml", source, environment) {
        Ok(config) => {
            assert!((0.001..=0.9).contains(&config.fanout.target_utilisation));
            for policy in [config.fanout.audio, config.fanout.video] {
                assert!(policy.subgroup > 0);
                assert!(policy.min_wait <= policy.max_wait);
                assert!(policy.skip_after <= policy.drop_after);
            }
        }
        Err(report) => {
            assert!(!report.problems().is_empty());
            let lines = source.matches('\n').count() + 1;
            for problem in report.problems() {
                if let Location::File {
                    line,
                    column,
                    width,
                    ..
                } = &problem.at
                {
                    assert!((1..=lines).contains(line) && *column >= 1 && *width >= 1);
                }
            }
            let _ = report.to_string();
        }
    }
});
