// Stands in the bundle for packages of mqtt.js that never serve here: SOCKS proxies, and timers for browsers.
function absent() {
  throw new Error('not part of this build: see scripts/bundling.mjs');
}
module.exports = { SocksClient: absent, setInterval: absent, clearInterval: absent };
