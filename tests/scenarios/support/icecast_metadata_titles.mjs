// Prints each title that icecast-metadata-js reports. Arguments: the packages' folder, the address.
const [folder, address] = process.argv.slice(2);
const library = await import(`${folder}/node_modules/icecast-metadata-js/index.js`);
const answer = await fetch(address, { headers: { 'Icy-MetaData': '1' } });
const onMetadata = ({ metadata }) => console.log(`title ${metadata.StreamTitle}`);
const stream = new library.IcecastReadableStream(answer, { metadataTypes: ['icy'], onMetadata });
await stream.startReading();
