// The routes below /sign-in: a person signs in at the provider. Nothing of it is on a topic.
import { Hono } from 'hono/tiny';
import { type Env, fieldsOf, refuse } from './exchange.ts';

type Words = { readonly code: string; readonly message: string; readonly hint?: string };

export interface DeviceView {
  state: 'waiting' | 'done' | 'failed';
  error?: Words;
  readonly verification_uri: string;
  readonly verification_uri_complete: string | null;
  readonly user_code: string;
  readonly expires_at: string;
  /** Of the address: a path within a square of `size`. */
  readonly qr: { readonly size: number; readonly path: string };
}

export interface SignInView {
  readonly account: string;
  readonly state: string;
  readonly reason: Words | null;
  readonly methods: readonly ('password' | 'form' | 'device' | 'link')[];
  /** While a refusal is in force. `askedAt`: when one more attempt was made all the same. */
  readonly budget: {
    readonly refusals: number;
    readonly nextAttemptAt: string | null;
    readonly askedAt: string | null;
  } | null;
  readonly device: DeviceView | null;
}

/** What rejects does so with a Failure. */
export interface SignInSource {
  /** Accounts without a session. */
  list(): Promise<readonly SignInView[]>;
  has(account: string): boolean;
  byPassword(
    account: string,
    typed: { readonly username: string; readonly password: string; readonly code: string | null },
  ): Promise<void>;
  beginDevice(account: string): Promise<DeviceView>;
  device(account: string): DeviceView | null;
  beginLink(account: string): Promise<{ readonly address: string }>;
  /** `null`: signed in; else the address to begin again with. */
  finishLink(account: string, pasted: string): Promise<{ readonly address: string } | null>;
  /** The other method goes on. */
  cancel(account: string, method: 'device' | 'link'): void;
}

const LONGEST_TYPED = 256;
const DONE = { state: 'done' } as const;
const TYPED: ReadonlySet<string> = new Set(['password', 'form']);

export function signInRoutes(source: SignInSource): Hono<Env> {
  const app = new Hono<Env>();
  app.get('/', async (c) => {
    const { mayTypePasswords } = c.get('visitor');
    const accounts = await source.list();
    return c.json(
      accounts.map((one) => ({
        ...one,
        methods: one.methods.filter((method) => mayTypePasswords || !TYPED.has(method)),
      })),
    );
  });
  app.use('/:account/*', async (c, next) =>
    source.has(c.req.param('account'))
      ? next()
      : refuse(c, 404, 'unknown_account', 'There is no such account.'),
  );
  app.post('/:account/password', async (c) => {
    const { username = '', password = '', code } = await fieldsOf(c);
    if (!c.get('visitor').mayTypePasswords)
      return refuse(
        c,
        403,
        'not_encrypted',
        'Passwords can be typed on this machine, in Home Assistant, or over HTTPS only.',
      );
    if (username === '' || password === '')
      return refuse(c, 400, 'request_malformed', 'User name or password is missing.');
    if ([username, password, code ?? ''].some(({ length }) => length > LONGEST_TYPED))
      return refuse(c, 400, 'request_malformed', `At most ${LONGEST_TYPED} characters are allowed.`);
    await source.byPassword(c.req.param('account'), {
      username,
      password,
      code: code?.replace(/\s/g, '') || null,
    });
    return c.json(DONE);
  });
  app.post('/:account/device', async (c) => c.json(await source.beginDevice(c.req.param('account'))));
  app.get('/:account/device', (c) => {
    const device = source.device(c.req.param('account'));
    return device === null ? refuse(c, 404, 'no_attempt', 'No attempt is under way.') : c.json(device);
  });
  app.post('/:account/link', async (c) => {
    const account = c.req.param('account');
    const { pasted } = await fieldsOf(c);
    if (pasted === undefined) return c.json(await source.beginLink(account));
    return c.json((await source.finishLink(account, pasted)) ?? DONE);
  });
  for (const method of ['device', 'link'] as const)
    app.delete(`/:account/${method}`, (c) => {
      source.cancel(c.req.param('account') ?? '', method);
      return c.body(null, 204);
    });
  return app;
}
