// Certificates made on the spot, so that a test says what is wrong with them: an authority, those below it, and servers.
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { isIP } from 'node:net';

interface Wanted {
  /** Common name. Default for a server: localhost. */
  readonly name?: string;
  /** Whom a server's is for. Default: this machine. */
  readonly hosts?: readonly string[];
  readonly from?: string;
  readonly until?: string;
}

/** What a TLS server shows; `pem` has no other certificate than its own. */
interface Certified {
  readonly cert: string;
  readonly key: string;
}

const LONG_AGO = '2020-01-01';
const FAR_AHEAD = '2120-01-01';
const THIS_MACHINE = ['localhost', '127.0.0.1'];

/** Without `above` it has signed itself. */
export function openAuthority(wanted: Wanted = {}, above: { key: KeyObject; name: string } | null = null) {
  const { name = 'An invented authority' } = wanted;
  const pair = newPair();
  const signer = above ?? { key: pair.privateKey, name };
  const subject = { publicKey: pair.publicKey, ...wanted, name, hosts: null };
  const issuer = { key: pair.privateKey, name };
  return {
    /** Its certificate (PEM). */
    cert: certificate(subject, signer),
    /** An authority whose certificate this one signs. */
    below: (name: string) => openAuthority({ name }, issuer),
    server({ name = 'localhost', hosts = THIS_MACHINE, ...wanted }: Wanted = {}): Certified {
      const { publicKey, privateKey } = newPair();
      const cert = certificate({ ...wanted, publicKey, name, hosts }, issuer);
      return { cert, key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })) };
    },
  };
}

const newPair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });

interface Subject extends Omit<Wanted, 'hosts'> {
  readonly name: string;
  readonly publicKey: KeyObject;
  /** `null`: it is an authority. */
  readonly hosts: readonly string[] | null;
}

const ECDSA_WITH_SHA256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
const VERSION_3 = der(0xa0, der(0x02, Buffer.of(2)));
const TRUE = der(0x01, Buffer.of(0xff));
const BASIC_CONSTRAINTS = oid(0x55, 0x1d, 0x13);
const ALTERNATIVE_NAMES = oid(0x55, 0x1d, 0x11);
// Two bytes without a leading zero, as long as there are fewer than thirty thousand.
let serial = 0x100;

function certificate(subject: Subject, { key, name: issuer }: { key: KeyObject; name: string }): string {
  const { publicKey, name, hosts, from = LONG_AGO, until = FAR_AHEAD } = subject;
  serial += 1;
  const content = sequence(
    VERSION_3,
    der(0x02, Buffer.of(serial >> 8, serial & 0xff)),
    ECDSA_WITH_SHA256,
    distinguished(issuer),
    sequence(instant(from), instant(until)),
    distinguished(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(hosts === null ? ofAuthority() : ofServer(hosts))),
  );
  const signature = der(0x03, Buffer.of(0), sign('sha256', content, key));
  const encoded = sequence(content, ECDSA_WITH_SHA256, signature).toString('base64');
  const lines = encoded.match(/.{1,64}/g)?.join('\n');
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

const ofAuthority = () => sequence(BASIC_CONSTRAINTS, TRUE, der(0x04, sequence(TRUE)));

const ofServer = (hosts: readonly string[]) =>
  sequence(ALTERNATIVE_NAMES, der(0x04, sequence(...hosts.map(generalName))));

const generalName = (host: string) =>
  isIP(host) === 4 ? der(0x87, Buffer.from(host.split('.').map(Number))) : der(0x82, Buffer.from(host));

const distinguished = (name: string) =>
  sequence(der(0x31, sequence(oid(0x55, 0x04, 0x03), der(0x0c, Buffer.from(name)))));

const instant = (day: string) => der(0x18, Buffer.from(`${day.replaceAll('-', '')}000000Z`));

function oid(...bytes: number[]): Buffer {
  return der(0x06, Buffer.from(bytes));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, ...parts);
}

/** A value of ASN.1 with its tag and its length. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const short = length < 0x80 ? [length] : null;
  const head = short ?? (length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]);
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
}
