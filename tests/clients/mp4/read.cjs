// What mp4box.js reads of a file: node read.cjs FOLDER-OF-PACKAGES FILE. One line of JSON.

'use strict';

const fs = require('node:fs');
const path = require('node:path');

const [, , packages, file] = process.argv;
// Its package names a file that it has not.
const { createFile } = require(path.join(packages, 'node_modules/mp4box/dist/mp4box.all.cjs'));

// Read in pieces, as from a network.
const PIECE = 1 << 20;

const read = createFile();
read.onError = (module, message) => {
    throw new Error(`${module}: ${message}`);
};
read.onReady = info => {
    const tracks = info.tracks.map(track => ({
        codec: track.codec,
        samples: track.nb_samples,
        seconds: track.samples_duration / track.timescale,
        edits: track.edits ?? [],
    }));
    const groups = read.moov.traks.map(trak => (trak.mdia.minf.stbl.sgpds ?? []).map(sgpd => sgpd.grouping_type));
    const seconds = info.duration / info.timescale;
    const middle = read.seek(seconds / 2, true).time;
    console.log(JSON.stringify({ fragmented: info.isFragmented, seconds, middle, tracks, groups }));
};
const bytes = fs.readFileSync(file);
for (let at = 0; at < bytes.length; at += PIECE) {
    const piece = bytes.subarray(at, at + PIECE);
    const buffer = piece.buffer.slice(piece.byteOffset, piece.byteOffset + piece.length);
    buffer.fileStart = at;
    read.appendBuffer(buffer);
}
read.flush();
