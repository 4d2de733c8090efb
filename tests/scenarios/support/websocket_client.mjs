// Writes the messages of a WebSocket to its output, and how the connection went to its errors, in lines of JSON.
// Argument: the address.
const socket = new WebSocket(process.argv[2]);
const say = (what) => console.error(JSON.stringify(what));
socket.binaryType = 'arraybuffer';
socket.onerror = () => say({ failed: true });
socket.onopen = () => say({ opened: true });
socket.onmessage = ({ data }) => process.stdout.write(Buffer.from(data));
socket.onclose = ({ code, wasClean }) => say({ closed: code, wasClean });
