# syntax=docker/dockerfile:1

FROM rust:1.95.0-slim-bookworm AS build
# aws-lc, the cryptography under TLS, and libopus are C.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends cmake g++ make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --release --locked --package carillon-server --bin carillon \
    && install -D target/release/carillon /out/carillon

# glibc, certificates and no shell.
FROM gcr.io/distroless/cc-debian12
COPY --from=build /out/carillon /carillon
COPY config/carillon.toml /etc/carillon/carillon.toml
USER 65532:65532
VOLUME /etc/carillon
# RTMP, HTTP, WebRTC, and the operator's port, which listens on the loopback unless configured otherwise.
EXPOSE 1935 8000 8189/udp 8189/tcp 9600
STOPSIGNAL SIGTERM
# It reads the file and environment that `serve` reads, and so finds the operator's port. If the command
# names another file, the health check must name it, too.
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s \
    CMD ["/carillon", "health", "--config", "/etc/carillon/carillon.toml"]
ENTRYPOINT ["/carillon"]
CMD ["serve", "--config", "/etc/carillon/carillon.toml"]
