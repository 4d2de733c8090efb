//! Codec configuration and frame headers: pure parsers, one file per codec.
