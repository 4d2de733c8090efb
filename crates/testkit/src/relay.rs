//! Common part of this process's proxies: each client is connected to the server, until the owner is gone.

use std::io::{self, ErrorKind};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// Interval of checking for new connections and for the end of the owner.
const NAP: Duration = Duration::from_millis(5);

/// One direction of a connection.
pub(crate) struct Direction {
    /// Whether the bytes come from the client.
    pub(crate) is_up: bool,
    pub(crate) from: TcpStream,
    pub(crate) to: TcpStream,
}

/// Connects each client of `listener` to `server` until `ends` returns true; passes both directions of each connection to
/// `carry`. All connections end then.
pub(crate) fn run(
    listener: &TcpListener,
    server: SocketAddr,
    ends: impl Fn() -> bool,
    mut carry: impl FnMut([Direction; 2]),
) {
    if let Err(error) = listener.set_nonblocking(true) {
        panic!("the proxy: {error}");
    }
    let mut open = Vec::new();
    while !ends() {
        match listener.accept() {
            // If the server is not there, the client is disconnected.
            Ok((client, _)) => {
                if let Ok((sockets, directions)) = connect(client, server) {
                    open.extend(sockets);
                    carry(directions);
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(NAP),
            Err(error) => panic!("the proxy: {error}"),
        }
    }
    for socket in open {
        // A connection that has already ended needs no shutdown.
        socket.shutdown(Shutdown::Both).ok();
    }
}

/// Connects a client to the server. Returns both sockets, for shutting them down.
fn connect(client: TcpStream, server: SocketAddr) -> io::Result<([TcpStream; 2], [Direction; 2])> {
    let server = TcpStream::connect(server)?;
    for socket in [&client, &server] {
        socket.set_nonblocking(false)?;
        socket.set_nodelay(true)?;
    }
    let direction = |is_up, from: &TcpStream, to: &TcpStream| {
        io::Result::Ok(Direction {
            is_up,
            from: from.try_clone()?,
            to: to.try_clone()?,
        })
    };
    let directions = [
        direction(true, &client, &server)?,
        direction(false, &server, &client)?,
    ];
    Ok(([client, server], directions))
}
