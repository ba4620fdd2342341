// What is drawn once for an installation: its client id at the broker, and its place in the jitter of polls.
import { randomBytes } from 'node:crypto';
import type { Log } from '../foundation/log.ts';
import { installationCodec } from './documents.ts';
import type { StateStore } from './stateStore.ts';

const newClientId = (): string => `heat2mqtt_${randomBytes(4).toString('hex')}`;

/** `jitterFraction` is between 0 and 1. Where they cannot be kept, they are drawn again at the next start. */
export async function openInstallation(state: StateStore, random: () => number, log: Log) {
  const document = state.document('installation', installationCodec);
  const known = await document.read();
  if (known !== null) return known;
  const drawn = { clientId: newClientId(), jitterFraction: random() };
  await document.write(drawn).catch((err) => log.error({ err }, 'installation could not be saved'));
  return drawn;
}
