// The device grant (RFC 8628): codes given out, answered by a person, and asked about by the device.
import { randomBytes } from 'node:crypto';
import { json, type Reply } from '../exchange.ts';
import {
  checkChallenge,
  checkVerifier,
  type Form,
  failed,
  type Grant,
  grantedScopes,
  noGrant,
  type Realm,
  type Session,
} from './realm.ts';

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const LIFE_SECONDS = 600;

interface Device {
  readonly userCode: string;
  readonly request: Form;
  readonly expiresAt: number;
  polledAt: number;
  answer: 'pending' | 'denied' | Session;
}

export type Devices = ReturnType<typeof openDevices>;

export function openDevices({ clock, issuer, switches, credentials, sessions }: Realm) {
  const { token } = switches;
  const devices = new Map<string, Device>();

  function waiting(userCode: string): Device {
    const device = [...devices.values()].find((candidate) => candidate.userCode === userCode);
    if (device?.answer !== 'pending') throw new Error('the simulator has no such user code waiting');
    return device;
  }

  return {
    start(request: Form): Reply {
      const disabled =
        'Client is not allowed to initiate OAuth 2.0 Device Authorization Grant. The flow is disabled for the client.';
      if (!token.deviceAllowed) throw failed(400, 'unauthorized_client', disabled);
      checkChallenge(request, switches);
      const device_code = randomBytes(32).toString('base64url');
      const user_code = newUserCode();
      devices.set(device_code, {
        userCode: user_code,
        request,
        expiresAt: clock.now() + LIFE_SECONDS * 1000,
        polledAt: Number.NEGATIVE_INFINITY,
        answer: 'pending',
      });
      return json({
        device_code,
        user_code,
        verification_uri: `${issuer}/device`,
        verification_uri_complete: `${issuer}/device?user_code=${user_code}`,
        expires_in: LIFE_SECONDS,
        interval: token.devicePollSeconds,
      });
    },

    /** The order of the checks is Keycloak's. */
    poll({ device_code: code = '', code_verifier: verifier }: Form): Grant {
      const now = clock.now();
      if (!token.deviceAllowed) throw noGrant('Client not allowed OAuth 2.0 Device Authorization Grant');
      const device = devices.get(code);
      if (!device) throw noGrant('Device code not valid');
      if (now >= device.expiresAt) throw failed(400, 'expired_token', 'Device code is expired');
      const isEarly = now - device.polledAt < token.devicePollSeconds * 1000;
      if (isEarly) throw failed(400, 'slow_down', 'Slow down');
      device.polledAt = now;
      const { answer, request } = device;
      if (answer === 'denied')
        throw failed(400, 'access_denied', 'The end user denied the authorization request');
      if (answer === 'pending')
        throw failed(400, 'authorization_pending', 'The authorization request is still pending');
      checkVerifier(request, verifier);
      devices.delete(code);
      return { session: answer, nonce: request.nonce };
    },

    /** The person's step at the verification address. */
    person: {
      /** User codes that are not answered yet. */
      pending: (): string[] =>
        [...devices.values()].flatMap(({ answer, userCode }) => (answer === 'pending' ? userCode : [])),
      approve(userCode: string, username: string): void {
        const account = credentials.account(username);
        if (!account) throw new Error('the simulator has no such account');
        const device = waiting(userCode);
        const scopes = grantedScopes(device.request.scope ?? '', switches);
        device.answer = sessions.start(account, scopes, clock.now());
      },
      deny(userCode: string): void {
        waiting(userCode).answer = 'denied';
      },
    },
  };
}

function newUserCode(): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
  const drawn = [...randomBytes(8)].map((byte) => letters[byte % letters.length]).join('');
  return `${drawn.slice(0, 4)}-${drawn.slice(4)}`;
}
