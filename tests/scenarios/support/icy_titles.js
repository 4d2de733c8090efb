// Prints each title that the npm package `icy` reports. Arguments: the packages' folder, the address.
const [folder, address] = process.argv.slice(2);
const icy = require(`${folder}/node_modules/icy`);
icy.get(address, (answer) => {
  answer.on('metadata', (block) => console.log(`title ${icy.parse(block).StreamTitle}`));
  answer.resume();
});
