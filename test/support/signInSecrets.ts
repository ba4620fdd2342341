// What goes over the wire while somebody signs in, noted on the way: none of it may be seen anywhere else.
import { expect } from 'vitest';
import type { Exchange } from '../../src/simulator/exchange.ts';
import type { Simulator } from '../../src/simulator/provider.ts';
import { expectSilence } from './canaries.ts';

const SECRET_FIELDS =
  'code code_verifier device_code totp otp refresh_token token password credentialId'.split(' ');
/** What the address holds that a person opens, too. */
const OF_THE_LINK = 'state nonce code_challenge session_code tab_id'.split(' ');
// Shorter ones are words such as "none", but for the codes.
const SHORTEST = 8;

export type SignInSecrets = ReturnType<typeof noteSignIns>;

/** To be called before any fault is set. */
export function noteSignIns({ switches, device }: Simulator) {
  const secrets = new Set<string>();
  const ofTheLink = new Set<string>();
  const kept = new Set<string>();

  function note({ body, query, headers }: Exchange): void {
    const form: Record<string, unknown> = Object(body);
    for (const name of SECRET_FIELDS) secrets.add(String(form[name] ?? ''));
    for (const name of ['refresh_token', 'token']) kept.add(String(form[name] ?? ''));
    for (const name of OF_THE_LINK) ofTheLink.add(query.get(name) ?? '');
    for (const pair of (headers.cookie ?? '').split('; ')) secrets.add(pair.slice(pair.indexOf('=') + 1));
    for (const userCode of device.pending()) ofTheLink.add(userCode);
  }
  const when = (exchange: Exchange) => {
    note(exchange);
    return false;
  };
  switches.fault('/auth/', { kind: 'reset' }, { when });

  function expectNone(texts: readonly string[], of: ReadonlySet<string>): void {
    const found = [...of].filter((secret) => secret !== '');
    expectSilence(
      texts,
      found.filter(({ length }) => length >= SHORTEST),
    );
    // A number of six digits may be a part of any longer one.
    for (const code of found.filter((one) => /^\d{6}$/.test(one))) {
      expect(texts.filter((text) => new RegExp(`(?<![\\w.])${code}(?![\\w.])`).test(text))).toEqual([]);
    }
  }

  return {
    /** How many secrets went over the wire so far. */
    get count() {
      return [...secrets, ...ofTheLink].filter((secret) => secret !== '').length;
    },
    /** Fails with the places where any of them can be read. */
    expectSilence: (texts: readonly string[]) => expectNone(texts, new Set([...secrets, ...ofTheLink])),
    /** In what a command prints for the person who opens the address. */
    expectLinkOnly: (texts: readonly string[]) => expectNone(texts, secrets),
    /** In files that hold the tokens. */
    expectTokensOnly: (texts: readonly string[]) =>
      expect(
        [...secrets, ...ofTheLink]
          .filter((secret) => secret.length >= SHORTEST && !kept.has(secret))
          .filter((secret) => texts.some((text) => text.includes(secret))),
      ).toEqual([]),
  };
}
