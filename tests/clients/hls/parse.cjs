// Reads media playlists by two parsers, m3u8-parser and hls-parser, and prints what each found, one line of
// JSON per playlist.
//
//     node parse.cjs FOLDER FILE...
//
// FOLDER is where `npm ci` put the packages. Durations are in microseconds. A segment that is still growing
// has no address.

const fs = require('node:fs');
const { createRequire } = require('node:module');

const [folder, ...files] = process.argv.slice(2);
const load = createRequire(`${folder}/`);
const { Parser } = load('m3u8-parser');
const hlsParser = load('hls-parser');

const micros = seconds => Math.round((seconds ?? 0) * 1e6);
const part = one => [one.uri, micros(one.duration), Boolean(one.independent)];

const byM3u8 = text => {
    const parser = new Parser();
    parser.push(text);
    parser.end();
    const { manifest } = parser;
    const growing = manifest.preloadSegment?.parts?.length ? [manifest.preloadSegment] : [];
    return {
        sequence: manifest.mediaSequence,
        target: micros(manifest.targetDuration),
        partTarget: micros(manifest.partTargetDuration),
        segments: [...manifest.segments, ...growing].map(segment => [
            segment.uri ?? '',
            micros(segment.duration),
            segment.map.uri,
            (segment.parts ?? []).map(part),
        ]),
    };
};

const byHls = text => {
    const playlist = hlsParser.parse(text);
    const isListed = one => !one.hint;
    const segments = playlist.segments.filter(one => one.uri || one.parts.some(isListed));
    let map;
    return {
        sequence: playlist.mediaSequenceBase,
        target: micros(playlist.targetDuration),
        partTarget: micros(playlist.partTargetDuration),
        segments: segments.map(segment => {
            // It is given once, where it changes.
            map = segment.map?.uri ?? map;
            const parts = segment.parts.filter(isListed).map(part);
            return [segment.uri, micros(segment.uri ? segment.duration : 0), map, parts];
        }),
    };
};

for (const file of files) {
    const text = fs.readFileSync(file, 'utf8');
    console.log(JSON.stringify({ 'm3u8-parser': byM3u8(text), 'hls-parser': byHls(text) }));
}
