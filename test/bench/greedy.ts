// A visitor who asks for far more than it reads: port, path, number of connections, requests on each.
import { connect } from 'node:net';

const [port, path, connections, requests] = process.argv.slice(2);
const flood = `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(Number(requests));
for (let n = 0; n < Number(connections); n += 1) {
  const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
  socket.pause();
  socket.write(flood);
}
// It stays until it is ended.
setInterval(() => undefined, 60_000);
