//! Log messages, to standard error: standard output belongs to the start-up notice and its readers.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::{Log, LogFormat};

/// Installs the process's log. A second call changes nothing.
pub(crate) fn install(log: &Log) {
    let builder = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(log.level.as_str()))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let installed = match log.format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    if installed.is_err() {
        tracing::debug!("a log is installed already");
    }
}
