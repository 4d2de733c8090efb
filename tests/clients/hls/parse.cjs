// Reads media playlists by two parsers, m3u8-parser and hls-parser, and prints what each found, one line of
// JSON per playlist.
//
//     node parse.cjs FOLDER FILE...
//
// FOLDER is where `npm ci` put the packages. Durations are in tenths of microseconds. A segment that is still growing
// has no address.

const fs = require('node:fs');
const { createRequire } = require('node:module');

const [folder, ...files] = process.argv.slice(2);
const load = createRequire(`${folder}/`);
const { Parser } = load('m3u8-parser');
const hlsParser = load('hls-parser');

// hls-parser counts segments and not seconds, as if each were as long as the target duration; and it takes the last
// part of a segment for a further one while the segment is not listed yet.
const MISTAKEN = [
    'Remove EXT-X-PART tags from the Playlist after they are greater than three target durations',
    'All Partial Segments except the last part of a segment must have a duration of at least 85%',
];
const complain = console.error;
let playlist = '';
console.error = said => {
    if (!MISTAKEN.some(words => String(said).includes(words))) complain(`${said}\n${playlist}`);
};

const tenths = seconds => Math.round((seconds ?? 0) * 1e7);
const part = one => [one.uri, tenths(one.duration), Boolean(one.independent)];

const byM3u8 = text => {
    const parser = new Parser();
    parser.push(text);
    parser.end();
    const { manifest } = parser;
    const growing = manifest.preloadSegment?.parts?.length ? [manifest.preloadSegment] : [];
    return {
        sequence: manifest.mediaSequence,
        target: tenths(manifest.targetDuration),
        partTarget: tenths(manifest.partTargetDuration),
        segments: [...manifest.segments, ...growing].map(segment => [
            segment.uri ?? '',
            tenths(segment.duration),
            segment.map?.uri ?? null,
            (segment.parts ?? []).map(part),
        ]),
    };
};

const byHls = text => {
    const found = hlsParser.parse(text);
    const isListed = one => !one.hint;
    const segments = found.segments.filter(one => one.uri || one.parts.some(isListed));
    let map;
    return {
        sequence: found.mediaSequenceBase,
        target: tenths(found.targetDuration),
        partTarget: tenths(found.partTargetDuration),
        segments: segments.map(segment => {
            // It is given once, where it changes.
            map = segment.map?.uri ?? map;
            const parts = segment.parts.filter(isListed).map(part);
            return [segment.uri, tenths(segment.uri ? segment.duration : 0), map, parts];
        }),
    };
};

for (const file of files) {
    playlist = fs.readFileSync(file, 'utf8');
    console.log(JSON.stringify({ 'm3u8-parser': byM3u8(playlist), 'hls-parser': byHls(playlist) }));
}
