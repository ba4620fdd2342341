// What is drawn once for an installation: its client id at the broker, and its place in the jitter.
import { randomBytes } from 'node:crypto';
import type { Log } from '../../foundation/log.ts';
import { installationCodec } from '../../store/documents.ts';
import type { StateDirectory } from '../../store/stateDirectory.ts';

export interface Installation {
  readonly clientId: string;
  /** From 0 to 1. */
  readonly jitterFraction: number;
}

export async function openInstallation(
  state: StateDirectory,
  random: () => number,
  log: Log,
): Promise<Installation> {
  const document = state.document('installation', installationCodec);
  const known = await document.read();
  if (known !== null) return known;
  const drawn = { clientId: `heat2mqtt_${randomBytes(4).toString('hex')}`, jitterFraction: random() };
  await document.write(drawn).catch((err) => log.error({ err }, 'installation could not be saved'));
  return drawn;
}
