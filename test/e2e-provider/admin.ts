// Keycloak's admin REST interface, as an administrator uses it.
import { ADMIN } from './keycloak.ts';

const TOKEN_LIFE_MS = 40_000;

export class Admin {
  readonly #url: string;
  #token: Promise<string> | null = null;
  #tokenAt = 0;

  /** `url`: of the server. */
  constructor(url: string) {
    this.#url = url;
  }

  /** `path`: below `/admin/realms`. Rejects with what Keycloak says is wrong. */
  async ask<T = unknown>(method: string, path = '', body?: unknown): Promise<T> {
    const reply = await fetch(`${this.#url}/admin/realms${path}`, {
      method,
      headers: { authorization: `Bearer ${await this.#signedIn()}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${method} ${path}: HTTP ${reply.status} ${text}`);
    return text === '' ? (undefined as T) : JSON.parse(text);
  }

  /** Lays fields over what is there. */
  async patch(path: string, fields: object): Promise<void> {
    await this.ask('PUT', path, { ...(await this.ask<object>('GET', path)), ...fields });
  }

  #signedIn(): Promise<string> {
    if (this.#token === null || Date.now() - this.#tokenAt > TOKEN_LIFE_MS) {
      this.#tokenAt = Date.now();
      this.#token = this.#signIn();
    }
    return this.#token;
  }

  async #signIn(): Promise<string> {
    const form = { grant_type: 'password', client_id: 'admin-cli', ...ADMIN };
    const path = '/realms/master/protocol/openid-connect/token';
    const reply = await fetch(this.#url + path, { method: 'POST', body: new URLSearchParams(form) });
    return Object(await reply.json()).access_token;
  }
}
