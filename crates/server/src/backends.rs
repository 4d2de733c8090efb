//! Socket back-ends, epoll or io_uring, and the threads that drive them: fan-out workers, and the intake that reads publishers.

use std::io;
use std::sync::Arc;

use config::Config;
use fanout::Fanout;
use limits::host;
use net::intake::{Intake, Method};
use net::{Backend, Epoll, Unavailable, Uring};

use crate::start_error::StartError;

/// Cores per thread that reads publishers. One thread reads thousands; the other cores are for workers.
const CORES_PER_INTAKE: usize = 4;

/// The workers, and the receiver of the listeners that leave them.
pub(crate) type Workers = (Arc<Fanout>, std::sync::mpsc::Receiver<fanout::Departure>);

type MakeBackend = fn() -> io::Result<Box<dyn Backend>>;

/// Back-ends with which workers drive listeners' sockets: io_uring, and epoll.
const BACKENDS: [MakeBackend; 2] = [
    || Ok(Box::new(Uring::new().map_err(io::Error::other)?)),
    || Ok(Box::new(Epoll::new()?)),
];

/// Methods of reading publishers' sockets. io_uring for them needs a newer kernel than for the workers' sockets.
const METHODS: [Method; 2] = [Method::Uring, Method::Epoll];

/// Chooses how this host drives sockets. io_uring is tried out before anything relies on it: many sandboxes refuse it.
/// `otherwise` is logged when it is refused, and epoll used instead.
fn choose<T>(
    wanted: config::Backend,
    probe: impl FnOnce() -> Result<(), Unavailable>,
    [io_uring, epoll]: [T; 2],
    otherwise: &str,
) -> Result<T, Unavailable> {
    match wanted {
        config::Backend::Epoll => Ok(epoll),
        config::Backend::IoUring => probe().map(|()| io_uring),
        config::Backend::Auto => Ok(match probe() {
            Ok(()) => io_uring,
            Err(why) => {
                tracing::info!(%why, "{otherwise}");
                epoll
            }
        }),
    }
}

/// Starts the threads that read publishers.
///
/// # Errors
/// Returns an error if `fanout.backend` demands io_uring and it is refused, or a thread cannot be started.
pub(crate) fn start_intake(config: &Config) -> Result<Intake, StartError> {
    let otherwise = "publishers are read by epoll";
    let method = choose(config.fanout.backend, Method::probe, METHODS, otherwise)
        .map_err(StartError::IoUring)?;
    let threads = host::cores().div_ceil(CORES_PER_INTAKE);
    Intake::start(threads, method, config.fanout.target_utilisation).map_err(StartError::Intake)
}

/// Starts the fan-out workers.
///
/// # Errors
/// Returns an error if `fanout.backend` demands io_uring and it is refused, or a thread cannot be started.
pub(crate) fn start_workers(config: &Config) -> Result<Workers, StartError> {
    let otherwise = "io_uring cannot be used; listeners are driven by epoll";
    let backend = choose(config.fanout.backend, Uring::probe, BACKENDS, otherwise)
        .map_err(StartError::IoUring)?;
    let settings = fanout::Config {
        workers: if config.fanout.workers == 0 {
            host::cores()
        } else {
            config.fanout.workers
        },
        target_utilisation: config.fanout.target_utilisation,
        log_bytes_max: config.fanout.log_mib.saturating_mul(1024 * 1024),
    };
    Fanout::start(&settings, backend).map_err(StartError::Workers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(wanted: config::Backend, works: bool) -> Option<&'static str> {
        let refused = || Unavailable::Refused(io::ErrorKind::PermissionDenied.into());
        let probe = || works.then_some(()).ok_or_else(refused);
        let make = choose(wanted, probe, BACKENDS, "").ok()?;
        Some(make().map_or("none here", |backend| backend.name()))
    }

    #[test]
    fn where_io_uring_is_refused_it_is_epoll_unless_demanded() {
        use config::Backend::{Auto, Epoll, IoUring};
        assert_eq!(name(Auto, false), Some("epoll"));
        assert_eq!(name(IoUring, false), None);
        assert_eq!(name(Epoll, false), Some("epoll"));
        assert_eq!(name(Epoll, true), Some("epoll"));
        let refused = || Unavailable::Refused(io::ErrorKind::PermissionDenied.into());
        let method = |wanted, works: bool| {
            let probe = || works.then_some(()).ok_or_else(refused);
            choose(wanted, probe, METHODS, "").ok()
        };
        assert_eq!(method(Auto, false), Some(Method::Epoll));
        assert_eq!(method(IoUring, false), None);
        assert_eq!(method(Epoll, true), Some(Method::Epoll));
        assert_eq!(method(Auto, true), Some(Method::Uring));
        if Uring::probe().is_ok() {
            assert_eq!(name(Auto, true), Some("io_uring"));
            assert_eq!(name(IoUring, true), Some("io_uring"));
        }
    }
}
