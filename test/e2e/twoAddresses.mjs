// Loaded before the program (`--import`): the name two.example has an address of this machine, and one that leads nowhere.
import dns from 'node:dns';

const { lookup } = dns;
const ADDRESSES = [
  { address: '127.0.0.1', family: 4 },
  { address: '2001:db8::1', family: 6 },
];

dns.lookup = (name, options, callback) => {
  if (name !== 'two.example') return lookup(name, options, callback);
  process.stderr.write('two addresses\n');
  callback(null, ADDRESSES);
};
