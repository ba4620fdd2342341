// Stands in the bundle for packages that never serve here: SOCKS proxies of mqtt.js, timers for browsers, files and
// threads that pino would write to, and the list of public suffixes of tough-cookie (130 kB). Its jar asks where the
// parent domains of a host end: with one issuer for each jar, nothing is given away when they end only at the last label.
// A function itself, because pino asks whether a stream is an instance of one of these.
function absent() {
  throw new Error('not part of this build: see scripts/bundling.mjs');
}
const getDomain = (host) => host.slice(host.lastIndexOf('.') + 1);
module.exports = Object.assign(absent, {
  SocksClient: absent,
  setInterval: absent,
  clearInterval: absent,
  getDomain,
});
