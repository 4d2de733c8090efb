//! The RTMP lane: final chunk-stream bytes, made once per stream.
