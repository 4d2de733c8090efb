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

/// Chooses the back-end with which this host's workers drive their sockets. io_uring is tried out before anything relies on it:
/// many sandboxes refuse it.
fn choose_backend(
    wanted: config::Backend,
    probe: impl FnOnce() -> Result<(), Unavailable>,
) -> Result<MakeBackend, Unavailable> {
    let epoll: MakeBackend = || Ok(Box::new(Epoll::new()?));
    let io_uring: MakeBackend = || Ok(Box::new(Uring::new().map_err(io::Error::other)?));
    match wanted {
        config::Backend::Epoll => Ok(epoll),
        config::Backend::IoUring => probe().map(|()| io_uring),
        config::Backend::Auto => match probe() {
            Ok(()) => Ok(io_uring),
            Err(why) => {
                tracing::info!(%why, "io_uring cannot be used; listeners are driven by epoll");
                Ok(epoll)
            }
        },
    }
}

/// Chooses the method of reading publishers' sockets. io_uring for them needs a newer kernel than for the workers' sockets.
fn choose_method(
    wanted: config::Backend,
    probe: impl FnOnce() -> Result<(), Unavailable>,
) -> Result<Method, Unavailable> {
    match wanted {
        config::Backend::Epoll => Ok(Method::Epoll),
        config::Backend::IoUring => probe().map(|()| Method::Uring),
        config::Backend::Auto => Ok(match probe() {
            Ok(()) => Method::Uring,
            Err(why) => {
                tracing::info!(%why, "publishers are read by epoll");
                Method::Epoll
            }
        }),
    }
}

/// Starts the threads that read publishers.
///
/// # Errors
/// Returns an error if `fanout.backend` demands io_uring and it is refused, or a thread cannot be started.
pub(crate) fn start_intake(config: &Config) -> Result<Intake, StartError> {
    let method =
        choose_method(config.fanout.backend, Method::probe).map_err(StartError::IoUring)?;
    let threads = host::cores().div_ceil(CORES_PER_INTAKE);
    Intake::start(threads, method, config.fanout.target_utilisation).map_err(StartError::Intake)
}

/// Starts the fan-out workers.
///
/// # Errors
/// Returns an error if `fanout.backend` demands io_uring and it is refused, or a thread cannot be started.
pub(crate) fn start_workers(config: &Config) -> Result<Workers, StartError> {
    let backend =
        choose_backend(config.fanout.backend, Uring::probe).map_err(StartError::IoUring)?;
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
        let make = choose_backend(wanted, probe).ok()?;
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
            choose_method(wanted, || works.then_some(()).ok_or_else(refused)).ok()
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
