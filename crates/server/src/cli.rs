//! The command line.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use auth::Authority;
use clap::{Args, Parser, Subcommand};
use config::{Config, Report};
use media::StreamName;
use reports::log::{self, Log};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::Runtime;

use crate::import_command;
use crate::journals;
use crate::ports::reachable;
use crate::rec;
use crate::relay::Relay;
use crate::sign;
use crate::signals::Signals;
use crate::start_error::StartError;
use crate::who;

/// Exit code for a configuration that is wrong.
const CONFIG_WRONG: u8 = 2;

/// Longest time that the process end waits for blocked threads: a name server may block a thread that looks up a link's host
/// name for many seconds, and that thread has nothing to lose.
const BLOCKED_TIMEOUT: Duration = Duration::from_millis(100);

/// A live audio and video relay: publish over RTMP, Icecast or WHIP, listen over HTTP, RTMP or WHEP.
#[derive(Debug, Parser)]
#[command(name = "carillon", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs the server.
    Serve {
        #[command(flatten)]
        source: Source,
        /// Adds the stream `demo`: a short clip in an endless loop.
        #[arg(long)]
        demo: bool,
    },
    /// Checks a configuration and shows every error with its line and column, and whether the journals that it names are
    /// damaged.
    Check {
        /// The file to check.
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
        /// Also reports which credentials admit publishers and listeners of this stream.
        #[arg(long, value_name = "STREAM", value_parser = sign::stream)]
        who: Option<StreamName>,
    },
    /// Turns a configuration of Icecast, nginx-rtmp, MediaMTX or SRS into one of this server.
    Import(import_command::Arguments),
    /// Puts listeners and publishers on a server, this one or another, and reports what they saw.
    Load(Box<load::Arguments>),
    /// Lists the recordings of a directory, or mends those that were left open.
    Rec {
        #[command(subcommand)]
        command: rec::Command,
    },
    /// Makes a link that permits to publish or to play a stream for a while.
    Sign(Box<sign::Arguments>),
    /// Asks the server on this host whether it is ready; for container health checks.
    Health {
        #[command(flatten)]
        source: Source,
    },
}

#[derive(Args, Debug)]
struct Source {
    /// Configuration file; without it the built-in default. Any key can be set in the environment:
    /// CARILLON__FANOUT__WORKERS=2.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Reasons why a command fails.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("{0}")]
    Config(#[from] Report),
    #[error("{0}")]
    Start(#[from] StartError),
    #[error("{0}")]
    System(#[from] io::Error),
    #[error("{0}")]
    Load(#[from] load::Error),
    #[error("{0}")]
    Import(#[from] import_command::Failure),
    #[error("{0}")]
    Rec(#[from] rec::Failure),
    #[error("{0}")]
    Sign(#[from] sign::Failure),
    #[error("not ready: {0}")]
    Unhealthy(#[from] operator::Unhealthy),
}

/// Runs the command that the arguments name.
pub fn run() -> ExitCode {
    run_command(None)
}

/// Runs the command for a program that supplies its own authority in place of the configured keys.
pub fn run_with(authority: Arc<dyn Authority>) -> ExitCode {
    run_command(Some(authority))
}

fn run_command(authority: Option<Arc<dyn Authority>>) -> ExitCode {
    let result = match Cli::parse().command {
        Command::Serve { source, demo } => serve(source.config.as_deref(), demo, authority),
        Command::Check { config, who } => check(&config, who.as_ref()),
        Command::Import(arguments) => {
            import_command::run(&arguments, &mut io::stdout(), &mut io::stderr())
                .map_err(Failure::from)
        }
        Command::Load(arguments) => load::run(*arguments).map_err(Failure::from),
        Command::Rec { command } => recordings(&command),
        Command::Sign(arguments) => signed(&arguments),
        Command::Health { source } => health(source.config.as_deref()),
    };
    let Err(failure) = result else {
        return ExitCode::SUCCESS;
    };
    say(&mut io::stderr(), &format!("carillon: {failure}\n"));
    match failure {
        Failure::Config(_) => ExitCode::from(CONFIG_WRONG),
        _ => ExitCode::FAILURE,
    }
}

fn configuration(path: Option<&Path>) -> Result<Config, Report> {
    // A variable that is not UTF-8 names none of our keys.
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Config::load(path, environment)
}

fn recordings(command: &rec::Command) -> Result<(), Failure> {
    let config = match command.place().is_configured() {
        true => Some(configuration(command.place().config.as_deref())?),
        false => None,
    };
    command.run(config.as_ref(), &mut io::stdout().lock())?;
    Ok(())
}

fn signed(arguments: &sign::Arguments) -> Result<(), Failure> {
    let config = configuration(Some(&arguments.config))?;
    arguments.run(&config, SystemTime::now(), &mut io::stdout().lock())?;
    Ok(())
}

fn serve(
    path: Option<&Path>,
    demo: bool,
    authority: Option<Arc<dyn Authority>>,
) -> Result<(), Failure> {
    let config = configuration(path)?;
    let log = Log::install(&config.log)?;
    // Installed around the hook of the log, which reports other panics.
    net::panics::install_hook();
    raise_descriptor_limit();
    let mut relay = Relay::load(config)?.with_demo(demo);
    relay.log = log.clone();
    if let Some(authority) = authority {
        relay = relay.with_authority(authority);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let result = finish(runtime, run_relay(relay));
    log.finish();
    result
}

async fn run_relay(relay: Relay) -> Result<(), Failure> {
    let signals = Signals::catch()?;
    let running = relay.start().await?;
    log::announce(running.notice());
    let watch = signals.watch(running.reload());
    running.run_until(watch.shutdown, watch.hurry).await;
    tracing::info!("ended");
    Ok(())
}

/// Runs a task to its end, then waits for blocked threads for at most [`BLOCKED_TIMEOUT`].
fn finish<T>(runtime: Runtime, task: impl Future<Output = T>) -> T {
    let result = runtime.block_on(task);
    runtime.shutdown_timeout(BLOCKED_TIMEOUT);
    result
}

/// Raises the descriptor limit as far as the system grants: each listener is one, and the usual soft
/// limit of 1,024 is for programs that use `select`, which this one does not.
fn raise_descriptor_limit() {
    let granted = getrlimit(Resource::Nofile);
    let wanted = Rlimit {
        current: granted.maximum,
        maximum: granted.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, wanted) {
        tracing::warn!(%error, "the limit of descriptors stays at {:?}", granted.current);
    }
}

fn check(path: &Path, who: Option<&StreamName>) -> Result<(), Failure> {
    let config = configuration(Some(path))?;
    say(&mut io::stdout(), &format!("{} is valid\n", path.display()));
    say(&mut io::stdout(), &journals::tell(&config));
    if let Some(stream) = who {
        let reported = who::tell(&config, stream, SystemTime::now());
        say(&mut io::stdout(), &reported.map_err(StartError::from)?);
    }
    Ok(())
}

fn health(path: Option<&Path>) -> Result<(), Failure> {
    let config = configuration(path)?;
    Ok(operator::ask_readiness(reachable(config.admin.listen))?)
}

/// Writes to a standard stream, which may already be closed.
fn say(stream: &mut dyn Write, text: &str) {
    if let Err(error) = stream
        .write_all(text.as_bytes())
        .and_then(|()| stream.flush())
    {
        tracing::debug!(%error, "a standard stream is closed");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn commands_are_understood() {
        let parse = |line: &str| Cli::try_parse_from(line.split(' ')).map(|cli| cli.command);
        let serve = parse("carillon serve --demo").expect("understood");
        let Command::Serve { source, demo: true } = &serve else {
            unreachable!("{serve:?}");
        };
        assert_eq!(source.config, None);
        let check = parse("carillon check --config a.toml").expect("understood");
        assert!(
            matches!(check, Command::Check { config, who: None } if config == Path::new("a.toml"))
        );
        let who = parse("carillon check --config a.toml --who live/x").expect("understood");
        assert!(matches!(who, Command::Check { who: Some(who), .. } if who.as_str() == "live/x"));
        assert!(parse("carillon check --config a.toml --who a//b").is_err());
        assert!(parse("carillon check").is_err());
        assert!(parse("carillon").is_err());
    }

    #[test]
    fn the_container_checks_health_by_the_configuration_it_serves() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Dockerfile");
        let dockerfile = std::fs::read_to_string(path).expect("a Dockerfile");
        // The last word of a line in the list form is the file.
        let file_of = |command: &str| {
            let lines = dockerfile.lines();
            let mut words = lines.filter_map(|line| line.rsplit_once("CMD [")?.1.strip_suffix(']'));
            let quoted = format!("\"{command}\", \"--config\", ");
            let line = words.find(|words| words.contains(&quoted));
            line.and_then(|words| words.rsplit(", ").next())
        };
        let served = file_of("serve").expect("it serves a file");
        assert_eq!(file_of("health"), Some(served));
    }

    /// A blocked thread, as in a name lookup that no name server answers.
    #[test]
    fn a_blocked_thread_does_not_hold_up_the_end() {
        let (release, released) = mpsc::sync_channel::<()>(1);
        let (tell, reported) = mpsc::sync_channel(1);
        let server = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .build()
                .expect("a runtime");
            finish(runtime, async {
                let (tell, started) = tokio::sync::oneshot::channel();
                tokio::task::spawn_blocking(move || {
                    tell.send(()).ok();
                    released.recv().ok();
                });
                started.await.ok();
            });
            tell.send(()).ok();
        });
        let ended = reported.recv_timeout(Duration::from_secs(10));
        drop(release);
        ended.expect("it ends although a thread is blocked");
        server.join().expect("no panic");
    }
}
