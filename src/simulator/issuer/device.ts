// The device grant (RFC 8628): codes given out, answered by a person, and asked about by the device.
import { randomBytes, randomUUID } from 'node:crypto';
import { json, type Reply } from '../exchange.ts';
import {
  challengeFault,
  type Form,
  failed,
  type Grant,
  type Realm,
  scopesIn,
  verifierFault,
} from './protocol.ts';
import type { Session } from './sessions.ts';

export const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

interface Device {
  readonly userCode: string;
  readonly request: Form;
  readonly expiresAt: number;
  polledAt: number;
  answer: 'pending' | 'denied' | Session;
}

export class Devices {
  readonly #realm: Realm;
  readonly #devices = new Map<string, Device>();

  constructor(realm: Realm) {
    this.#realm = realm;
  }

  start(request: Form): Reply {
    const { clock, issuer, switches } = this.#realm;
    const { deviceAllowed, deviceSeconds, devicePollSeconds } = switches.token;
    if (!deviceAllowed) {
      const disabled = 'The flow is disabled for the client.';
      const refusal = `Client is not allowed to initiate OAuth 2.0 Device Authorization Grant. ${disabled}`;
      return failed(400, 'unauthorized_client', refusal);
    }
    const fault = challengeFault(request, switches);
    if (fault) return failed(400, 'invalid_request', fault);
    const device_code = randomBytes(32).toString('base64url');
    const user_code = userCode();
    this.#devices.set(device_code, {
      userCode: user_code,
      request,
      expiresAt: clock.now() + deviceSeconds * 1000,
      polledAt: Number.NEGATIVE_INFINITY,
      answer: 'pending',
    });
    return json({
      device_code,
      user_code,
      verification_uri: `${issuer}/device`,
      verification_uri_complete: `${issuer}/device?user_code=${user_code}`,
      expires_in: deviceSeconds,
      interval: devicePollSeconds,
    });
  }

  /** The order of the checks is Keycloak's. */
  poll({ device_code: code = '', code_verifier: verifier }: Form): Grant | Reply {
    const now = this.#realm.clock.now();
    const { deviceAllowed, devicePollSeconds } = this.#realm.switches.token;
    if (!deviceAllowed) {
      return failed(400, 'invalid_grant', 'Client not allowed OAuth 2.0 Device Authorization Grant');
    }
    const device = this.#devices.get(code);
    if (!device) return failed(400, 'invalid_grant', 'Device code not valid');
    if (now >= device.expiresAt) return failed(400, 'expired_token', 'Device code is expired');
    if (now - device.polledAt < devicePollSeconds * 1000) {
      return failed(400, 'slow_down', 'Slow down');
    }
    device.polledAt = now;
    const { answer, request } = device;
    if (answer === 'denied') {
      return failed(400, 'access_denied', 'The end user denied the authorization request');
    }
    if (answer === 'pending') {
      return failed(400, 'authorization_pending', 'The authorization request is still pending');
    }
    const fault = verifierFault(request.code_challenge, verifier);
    if (fault) return failed(400, 'invalid_grant', fault);
    this.#devices.delete(code);
    return { session: answer, nonce: request.nonce };
  }

  pending(): string[] {
    return [...this.#devices.values()].flatMap(({ answer, userCode }) =>
      answer === 'pending' ? userCode : [],
    );
  }

  approve(userCode: string, username: string): void {
    const { clock, credentials, sessions, switches } = this.#realm;
    const account = credentials.account(username);
    if (!account) throw new Error('the simulator has no such account');
    const device = this.#waiting(userCode);
    const { allowed } = scopesIn(device.request.scope ?? '', switches);
    device.answer = sessions.start(randomUUID(), account, allowed, clock.now());
  }

  deny(userCode: string): void {
    this.#waiting(userCode).answer = 'denied';
  }

  #waiting(userCode: string): Device {
    const found = [...this.#devices.values()].find((one) => one.userCode === userCode);
    if (found?.answer !== 'pending') throw new Error('the simulator has no such user code waiting');
    return found;
  }
}

function userCode(): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
  const drawn = [...randomBytes(8)].map((byte) => letters[byte % letters.length]).join('');
  return `${drawn.slice(0, 4)}-${drawn.slice(4)}`;
}
