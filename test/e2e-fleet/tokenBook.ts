// What the provider has seen of tokens: who was given which, which of them came back, and what must not have happened.
import type { Exchange, Reply } from '../../src/simulator/exchange.ts';

/** Tokens that the provider has given. A process that uses them has kept them before. */
interface Grant {
  readonly isLogin: boolean;
  readonly at: number;
  /** Epoch milliseconds; `null`: not used. */
  usedAt: number | null;
  /** How often the refresh token was presented, and what it was first exchanged for. */
  presented: number;
  answer: Grant | null;
}

interface Person {
  readonly name: string;
  readonly grants: Grant[];
  readonly logins: { readonly at: number; readonly before: Grant | null; readonly couldRefresh: boolean }[];
}

export class TokenBook {
  readonly #people = new Map<string, Person>();
  readonly #byAccess = new Map<string, Grant>();
  readonly #byRefresh = new Map<string, { readonly grant: Grant; readonly person: Person }>();
  readonly #unknown: string[] = [];
  /** Every token that was given, the newest last. */
  readonly tokens: string[] = [];
  refreshes = 0;

  /** For `onReply` of the simulator. */
  readonly note = ({ headers, body, path, at }: Exchange, reply: Reply): void => {
    const bearer = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1];
    const grant = bearer === undefined ? undefined : this.#byAccess.get(bearer);
    if (grant !== undefined) grant.usedAt = at;
    if (path.endsWith('/protocol/openid-connect/token')) this.#noteToken(Object(body), reply, at);
  };

  /** Passwords that were sent. */
  get logins(): number {
    return this.#all.reduce((sum, { logins }) => sum + logins.length, 0);
  }

  /** Tokens that no process has kept, though others had to be asked for afterwards: a session that the faults have cost. */
  get lost(): number {
    return this.#all.reduce((sum, { grants }) => sum + grants.slice(0, -1).filter(isLost).length, 0);
  }

  /** When passwords were sent for this person (epoch milliseconds), and whether the one before came to nothing. */
  loginsOf(username: string): { readonly at: number; readonly isRepeated: boolean }[] {
    const logins = this.#people.get(username)?.logins ?? [];
    return logins.map(({ at, before }) => ({
      at,
      isRepeated: before?.isLogin === true && isLost(before),
    }));
  }

  /** What must not have happened, in words. */
  complaints(): string[] {
    return [...this.#unknown, ...this.#all.flatMap(complaintsAbout)];
  }

  get #all(): readonly Person[] {
    return [...this.#people.values()];
  }

  #noteToken(form: Record<string, string>, { status, body }: Reply, at: number): void {
    const { grant_type: kind, username = '', refresh_token: token = '' } = form;
    const known = kind === 'refresh_token' ? this.#byRefresh.get(token) : undefined;
    if (kind !== 'password' && known === undefined) {
      this.#unknown.push(`a ${kind} that the provider never gave`);
      return;
    }
    const person = known?.person ?? this.#person(username);
    const before = person.grants.at(-1) ?? null;
    if (known === undefined) person.logins.push({ at, before, couldRefresh: before?.presented === 0 });
    else {
      this.refreshes += 1;
      known.grant.usedAt = at;
      known.grant.presented += 1;
    }
    if (status !== 200) return;
    const { access_token: access, refresh_token: refresh } = Object(body);
    const grant: Grant = { isLogin: known === undefined, at, usedAt: null, presented: 0, answer: null };
    if (known !== undefined) known.grant.answer = grant;
    person.grants.push(grant);
    this.#byAccess.set(access, grant);
    this.#byRefresh.set(refresh, { grant, person });
    this.tokens.push(access, refresh);
  }

  #person(name: string): Person {
    const person = this.#people.get(name) ?? { name, grants: [], logins: [] };
    this.#people.set(name, person);
    return person;
  }
}

const isLost = ({ usedAt }: Grant): boolean => usedAt === null;

function complaintsAbout({ name, grants, logins }: Person): string[] {
  const twice = grants.filter(({ presented, answer }) => presented > 1 && answer !== null && !isLost(answer));
  const needless = logins.filter(
    ({ before, couldRefresh }) => before !== null && couldRefresh && !isLost(before),
  );
  const late = logins.filter(({ at, before }) => before !== null && Number(before.usedAt) > at);
  return [
    ...twice.map(
      ({ at }) => `${name}: a refresh token of ${time(at)} came again, though its answer was kept`,
    ),
    ...needless.map(({ at }) => `${name}: a login at ${time(at)}, though the tokens before it were kept`),
    ...late.map(({ at }) => `${name}: after the login at ${time(at)} the tokens before it were used`),
  ];
}

const time = (at: number): string => new Date(at).toISOString();
