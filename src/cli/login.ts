// heat2mqtt login: a person signs in, beside a running daemon too. heat2mqtt logout: the end of the session.

import type { Upstream } from '../accounts/upstream.ts';
import { beginDevice, methodUnusable, mistakeOf, noRedirectUri, storeGrant } from '../auth/byPerson.ts';
import { NO_REFRESH_TOKEN } from '../auth/refusals.ts';
import type { Grant } from '../auth/tokens.ts';
import type { Account } from '../config/schema.ts';
import { WAYS_TO_SIGN_IN } from '../config/sections.ts';
import { EXIT, Failure } from '../foundation/failure.ts';
import { type Command, choiceOf, type Io } from './command.ts';
import type { Settings } from './settings.ts';
import { loadWithAccount, openUpstreamBeside, pickAccount } from './upstream.ts';

type Method = (typeof WAYS_TO_SIGN_IN)[number];

const LONGEST_TYPING_MS = 3 * 60_000;

export const login: Command = async ({ options, words }, io) => {
  const settings = await loadWithAccount({ options, words }, io);
  const account = pickAccount(settings, options.account);
  const { provider } = settings.config;
  const method =
    options.method === undefined
      ? (provider?.sign_in ?? 'auto')
      : choiceOf('--method', options.method, WAYS_TO_SIGN_IN);
  const upstream = await signInWith(method, account, settings, io);
  await upstream.identity();
  const { refreshExpiresAt } = upstream.session.status();
  const until =
    refreshExpiresAt === null ? '' : ` Unless it is refreshed, it ends at ${iso(refreshExpiresAt)} UTC.`;
  io.out(`Signed in: the session of ${account.id} is stored.${until}\n`);
  if (provider?.offline_access && refreshExpiresAt !== null)
    io.out('It has an end though offline_access was asked for: the issuer did not give it.\n');
  if (upstream.session.lacksRefreshToken) io.out(`${NO_REFRESH_TOKEN.message}\n`);
  io.out('A running bridge takes it within a minute.\n');
  return EXIT.fine;
};

export const logout: Command = async ({ options, words }, io) => {
  const settings = await loadWithAccount({ options, words }, io);
  const account = pickAccount(settings, options.account);
  const { session, login: byItself } = await openUpstreamBeside(settings, account, io, { anyScopes: true });
  const had = await session.end();
  io.out(
    had
      ? 'Signed out: the issuer has ended the session, and its tokens are removed.\n'
      : 'No session is stored.\n',
  );
  if (!byItself.needsPerson)
    io.out('The configuration has a password: a running bridge signs in again by itself.\n');
  return EXIT.fine;
};

/** Resolves once the session is stored. */
export async function signInWith(
  method: Method,
  account: Account,
  settings: Settings,
  io: Io,
): Promise<Upstream> {
  rejectUnusable(method, account, settings);
  const askCode = codePrompt(io);
  const upstream = await openUpstreamBeside(settings, account, io, { signIn: method, askCode });
  await signIn(method, upstream, settings, io);
  if (upstream.state.fault !== null) throw upstream.state.fault;
  return upstream;
}

function rejectUnusable(method: Method, { id, password }: Account, { config }: Settings): void {
  if ((method === 'form' || method === 'link') && config.provider?.redirect_uri === undefined)
    throw noRedirectUri(`--method ${method}`);
  if ((method === 'form' || method === 'password') && password === undefined)
    throw methodUnusable(
      EXIT.config,
      `--method ${method} needs the password of ${id} in the configuration, and there is none.`,
      'With --method device or --method link nothing but the provider sees the password.',
    );
}

/** With `auto`: by itself, else on another device, else by a link. */
async function signIn(method: Method, upstream: Upstream, settings: Settings, io: Io): Promise<void> {
  const redirectUri = settings.config.provider?.redirect_uri;
  if (method === 'device') return storeGrant(await byDevice(upstream, io), upstream);
  if (method === 'link' && redirectUri) return storeGrant(await byLink(upstream, redirectUri, io), upstream);
  await upstream.askForLogin();
  const refused = await upstream.session.logIn().then(
    () => null,
    (err: unknown) => err,
  );
  if (refused === null) return;
  const canHelp = refused instanceof Failure && ['login_needed', 'unsupported_step'].includes(refused.code);
  if (method !== 'auto' || !canHelp) throw refused;
  io.out(`${refused.message}\n\n`);
  const grant = await byDevice(upstream, io).catch((err: unknown) => {
    const isUnusable = err instanceof Failure && err.exitCode === EXIT.credentials;
    if (!isUnusable || redirectUri === undefined) throw err;
    io.out(`${err.message} Signing in by a link instead.\n\n`);
    return byLink(upstream, redirectUri, io);
  });
  await storeGrant(grant, upstream);
}

async function byDevice(upstream: Upstream, io: Io): Promise<Grant> {
  const flow = await beginDevice(upstream.issuer);
  const address = flow.completeUri ?? flow.verificationUri;
  if (io.isTerminal) {
    const { renderUnicodeCompact } = await import('uqr');
    io.out(`${renderUnicodeCompact(address)}\n\n`);
  }
  io.out(`Open ${address}\non any device and sign in. The code, if it asks for one: ${flow.userCode}\n`);
  io.out(`Waiting for ${Math.round(flow.expiresInSeconds / 60)} minutes at most; Ctrl-C ends it.\n`);
  return flow.wait(io.interrupted).catch((err: unknown) => {
    if (!io.interrupted.aborted) throw err;
    throw endedEarly();
  });
}

async function byLink({ issuer }: Upstream, redirectUri: string, io: Io): Promise<Grant> {
  return issuer.withScope(async (scope) => {
    const flow = await issuer.beginCodeFlow(redirectUri, scope);
    io.out(`Open this address in a browser and sign in:\n\n${flow.url.href}\n\n`);
    io.out('Then copy the address you land on, within a minute. The page itself may well show an error.\n');
    for (;;) {
      const pasted = await io.ask('Paste the address: ');
      if (pasted === null)
        throw methodUnusable(EXIT.usage, 'No address was pasted.', 'Run the command in a terminal.');
      const mistake = mistakeOf(pasted.trim(), flow);
      if (mistake === null) return flow.finish(new URL(pasted.trim()));
      io.out(`${mistake}\n`);
    }
  });
}

const endedEarly = () =>
  methodUnusable(EXIT.unexpected, 'Ended before the sign-in was complete.', 'Run the command again.');

/** Asks a person beforehand, and again when the login page wants a code and none was typed. */
function codePrompt(io: Io): () => Promise<string | null> {
  let typed = '';
  let isBeforehand = true;
  return async () => {
    const isIdle = typed !== '' || (isBeforehand && !io.isInteractive);
    const condition = isBeforehand ? ', if the account has a second factor (Enter for none)' : '';
    isBeforehand = false;
    if (isIdle) return typed || null;
    // A running bridge cannot refresh its session meanwhile.
    const given = await Promise.race([
      io.ask(`One-time code${condition}: `),
      io.clock.sleep(LONGEST_TYPING_MS),
    ]);
    // Going on without a code would cost a refused password.
    if (io.interrupted.aborted || given === undefined) throw endedEarly();
    typed = given?.replace(/\s/g, '') ?? '';
    return typed === '' ? null : typed;
  };
}

const iso = (instant: number): string => new Date(instant).toISOString().slice(0, 16).replace('T', ' ');
