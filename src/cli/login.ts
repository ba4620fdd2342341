// heat2mqtt login: a person signs in, beside a running daemon too. heat2mqtt logout: the end of the session.
import type { Upstream } from '../accounts/upstream.ts';
import { methodUnusable, noRedirectUri } from '../auth/oidc.ts';
import { NO_REFRESH_TOKEN } from '../auth/refusals.ts';
import type { Grant } from '../auth/tokens.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import { loadHousehold, openAccount, openUpstreamBeside, pickAccount } from './account.ts';
import type { Io } from './command.ts';
import type { Command, Given, ValueOf } from './commands.ts';
import type { Settings } from './settings.ts';

const LONGEST_TYPING_MS = 3 * 60_000;

export const login: Command<'login'> = async (given, io) => {
  const { method, account } = given.options;
  const settings = await loadHousehold(given, io);
  const { id } = pickAccount(settings, account);
  const { session } = await signInWith(settings, io, { method, account });
  const { refreshExpiresAt } = session.status();
  const hasEnd = refreshExpiresAt !== null;
  const until = hasEnd ? ` Unless it is refreshed, it ends at ${minuteOf(refreshExpiresAt)} UTC.` : '';
  io.out(`Signed in: the session of ${id} is stored.${until}\n`);
  if (settings.config.provider?.offline_access && hasEnd)
    io.out('It has an end though offline_access was asked for: the issuer did not give it.\n');
  if (session.lacksRefreshToken) io.out(`${NO_REFRESH_TOKEN.message}\n`);
  io.out('A running bridge takes it within a minute.\n');
  return EXIT.fine;
};

export const logout: Command<'logout'> = async (given, io) => {
  const { session, login: byItself, state } = (await openAccount(given, io, { anyScopes: true })).upstream;
  const had = await session.end();
  if (state.fault !== null) throw state.fault;
  const ended = 'Signed out: the issuer has ended the session, and its tokens are removed.';
  io.out(`${had ? ended : 'No session is stored.'}\n`);
  if (!byItself.needsPerson)
    io.out('The configuration has a password: a running bridge signs in again by itself.\n');
  return EXIT.fine;
};

/** Signs in by the method of `provider.sign_in`, for the first account unless others are wanted. Resolves once the session is stored. */
export async function signInWith(
  settings: Settings,
  io: Io,
  wanted: Pick<Given<'login'>['options'], 'method' | 'account'> = {},
): Promise<Upstream> {
  const { provider } = settings.config;
  const account = pickAccount(settings, wanted.account);
  const method = wanted.method ?? provider?.sign_in ?? 'auto';
  const redirectUri = provider?.redirect_uri;
  if ((method === 'form' || method === 'link') && redirectUri === undefined)
    throw noRedirectUri(`--method ${method}`);
  if ((method === 'form' || method === 'password') && account.password === undefined)
    throw methodUnusable(
      EXIT.config,
      `--method ${method} needs the password of ${account.id} in the configuration, and there is none.`,
      'With --method device or --method link nothing but the provider sees the password.',
    );
  const upstream = openUpstreamBeside(settings, io, account, { signIn: method, askCode: codePrompt(io) });
  const grant = await grantBy(method, upstream, redirectUri, io);
  if (grant !== null) await upstream.session.storeGrant(grant);
  if (upstream.state.fault !== null) throw upstream.state.fault;
  return upstream;
}

/** The grant that a person has brought; `null` where none was needed. With `auto`: on another device, else by a link. */
async function grantBy(
  method: ValueOf<'login', 'method'>,
  upstream: Upstream,
  redirectUri: string | undefined,
  io: Io,
): Promise<Grant | null> {
  if (method === 'device') return byDevice(upstream, io);
  if (method === 'link' && redirectUri) return byLink(upstream, redirectUri, io);
  await upstream.askForLogin();
  try {
    await upstream.session.logIn();
    return null;
  } catch (err) {
    const canHelp = err instanceof Failure && ['login_needed', 'unsupported_step'].includes(err.code);
    if (method !== 'auto' || !canHelp) throw err;
    io.out(`${err.message}\n\n`);
  }
  return byDevice(upstream, io).catch((err: unknown) => {
    const isUnusable = err instanceof Failure && err.exitCode === EXIT.credentials;
    if (!isUnusable || redirectUri === undefined) throw err;
    io.out(`${err.message} Signing in by a link instead.\n\n`);
    return byLink(upstream, redirectUri, io);
  });
}

async function byDevice({ issuer }: Upstream, io: Io): Promise<Grant> {
  const flow = await issuer.beginDevice();
  const address = flow.completeUri ?? flow.verificationUri;
  if (io.isTerminal && flow.qrUri !== null) {
    const { renderUnicodeCompact } = await import('uqr');
    const qr = renderUnicodeCompact(flow.qrUri);
    if (qr.indexOf('\n') <= io.columns) io.out(`${qr}\n\n`);
  }
  io.out(`Open ${address}\non any device and sign in. The code, if it asks for one: ${flow.userCode}\n`);
  io.out(`Waiting for ${Math.round(flow.expiresInSeconds / 60)} minutes at most; Ctrl-C ends it.\n`);
  return flow.wait(io.interrupted).catch((err: unknown) => {
    throw io.interrupted.aborted ? endedEarly() : err;
  });
}

async function byLink({ issuer }: Upstream, redirectUri: string, io: Io): Promise<Grant> {
  return issuer.withScope(async (scope) => {
    const flow = await issuer.beginCodeFlow(redirectUri, scope);
    io.out(`Open this address in a browser and sign in:\n\n${flow.url.href}\n\n`);
    io.out('Then copy the address you land on, within a minute. The page itself may well show an error.\n');
    for (;;) {
      const pasted = (await io.ask('Paste the address: '))?.trim();
      if (pasted === undefined)
        throw methodUnusable(EXIT.usage, 'No address was pasted.', 'Run the command in a terminal.');
      const mistake = flow.mistakeIn(pasted);
      if (mistake === null) return flow.finish(new URL(pasted));
      io.out(`${mistake}\n`);
    }
  });
}

const endedEarly = () =>
  methodUnusable(EXIT.usage, 'Ended before the sign-in was complete.', 'Run the command again.');

/** Asks a person beforehand, and again when the login page wants a code and none was typed. */
function codePrompt({ ask, clock, interrupted, isInteractive }: Io): () => Promise<string | null> {
  let typed = '';
  let condition = ', if the account has a second factor (Enter for none)';
  return async () => {
    const question = `One-time code${condition}: `;
    const isAsked = typed === '' && (isInteractive || condition === '');
    condition = '';
    if (isAsked) {
      // A running bridge cannot refresh its session meanwhile.
      const answer = await Promise.race([ask(question), clock.sleep(LONGEST_TYPING_MS)]);
      // Going on without a code would cost a refused password.
      if (interrupted.aborted || answer === undefined) throw endedEarly();
      typed = answer?.replace(/\s/g, '') ?? '';
    }
    return typed || null;
  };
}

/** The zone is UTC. */
const minuteOf = (instant: number): string => new Date(instant).toISOString().slice(0, 16).replace('T', ' ');
