// What the broker has of one account, and what it is still to be told. Both are kept in one document of the account, so that whichever
// process has it next goes on with them.
import type { Account } from '../accounts/account.ts';
import type { AccountContext } from '../accounts/context.ts';
import { eventsOfStates } from '../accounts/events.ts';
import { about } from '../foundation/about.ts';
import { safeWords } from '../foundation/failure.ts';
import type { Link } from '../mqtt/link.ts';
import type { Message } from '../mqtt/message.ts';
import { deviceId } from '../publication/discovery.ts';
import { homeLanguage } from '../publication/language.ts';
import { composeAccount } from '../publication/messages.ts';
import { type KeptTopics, RetainedDiff, withdrawAll } from '../publication/retainedDiff.ts';
import type { Claim } from '../store/database/claim.ts';
import type { Told } from '../store/documents.ts';
import type { Codec } from '../store/stateStore.ts';

/** What the broker has of the account, and what it is still to be told. */
interface Published extends KeptTopics {
  /** What its lists were written by, beside readings and invoices; `null`: not all of these are published yet. */
  readonly lists: string | null;
  readonly told: Told;
  /** Oldest first; they stay until the broker has acknowledged them. */
  readonly events: readonly Message[];
}

/** What a turn has to tell the broker. */
export interface News {
  readonly diff: RetainedDiff;
  readonly retained: readonly Message[];
  readonly events: readonly Message[];
  /** What is kept until the broker has them, and once it has. */
  readonly untold: Published;
  readonly lists: string;
  /** A process that dies while it publishes must leave them to the next one to publish, or to clear. */
  readonly isToNote: boolean;
}

interface Parts {
  readonly link: Pick<Link, 'send'>;
  readonly context: Pick<AccountContext, 'log' | 'topics'>;
}

/** A document as it is, with these objects in it. */
export const asItIs = <T>(...objects: readonly (keyof T & string)[]): Codec<T> => ({
  encode: (value) => value,
  decode(json) {
    if (objects.some((name) => !(Object(json)[name] instanceof Object)))
      throw new TypeError('another document');
    return json as T;
  },
});
const publishedCodec = asItIs<Published>('topics', 'components', 'told', 'events');

const documentOf = (claim: Claim) => claim.stored.document('published', publishedCodec);

const NOTHING = { topics: {}, components: {}, lists: null, events: [] };

/** As the turn before has left it, which the account goes on from. */
export async function readPublished(claim: Claim, account: Account): Promise<Published> {
  // A household that was moved here may have left some untold.
  const ofHousehold = { ...NOTHING, told: account.told, events: account.history.record.untold };
  const published = (await documentOf(claim).read()) ?? ofHousehold;
  account.told = published.told;
  return published;
}

/** `fresh`: events of this turn. They are written with the rest: the documents of the account need not remember them. */
export function newsOf(
  account: Account,
  fresh: readonly Message[],
  published: Published,
  claim: Claim,
  context: AccountContext,
): News {
  const before = { ...published, ...ofOwnMeters(published, claim, context) };
  const meters = account.meterViews();
  const events = [...before.events, ...fresh, ...eventsOfStates(account, meters, context)];
  for (const { onTaken } of events) onTaken?.();
  const lists = `${about.version} ${account.extras.currency}`;
  const areListsSame = before.lists === lists && !claim.stored.hasNews();
  const diff = new RetainedDiff(before);
  if (claim.row.republish > 0) diff.forget();
  const all = composeAccount(account.view(), meters, placesOf(context));
  const news = diff.take(account.id, all, areListsSame);
  const untold = {
    ...before,
    topics: { ...Object.fromEntries(all.map(({ topic }) => [topic, ''])), ...before.topics },
    lists: areListsSame ? lists : null,
    told: account.told,
    events,
  };
  const isTopicNew = all.some(({ topic }) => !(topic in before.topics));
  return {
    diff,
    // While a history is incomplete, a meter may only be read again.
    retained: [...news, ...(account.isIncomplete ? [] : diff.gone())],
    events,
    untold,
    lists,
    isToNote: isTopicNew || claim.stored.hasNews() || events.length > before.events.length,
  };
}

function placesOf({ topics, config }: AccountContext) {
  const { discovery_prefix: prefix } = config.mqtt;
  const language = homeLanguage(config.language);
  return { topics, discovery: prefix === false ? null : { prefix, topics, page: null, language } };
}

export const noteUntold = (claim: Claim, { untold }: News): Promise<boolean> =>
  documentOf(claim).write(untold);

/** Publishes the news. What the broker has then is written with the end of the turn. Resolves to whether it has answered. */
export async function tell(claim: Claim, news: News, parts: Parts): Promise<boolean> {
  const { diff, retained, events, untold, lists } = news;
  const refused = await publish([...retained, ...events], claim, parts);
  if (refused === null) {
    await documentOf(claim).write(untold);
    return false;
  }
  const isRefused = (topic: string) => refused.has(topic);
  for (const message of retained) if (!isRefused(message.topic)) diff.delivered(message);
  // The next run tries these again.
  diff.forget(isRefused);
  await documentOf(claim).write({ ...diff.kept(), lists, told: untold.told, events: [] });
  return true;
}

/** Clears the topics of an account that is being removed. Resolves to whether the broker has answered, and to whether it has taken that. */
export async function clearTopics(claim: Claim, parts: Parts) {
  const { events, ...kept } = (await documentOf(claim).read()) ?? NOTHING;
  const refused = await publish(
    [...events, ...withdrawAll(ofOwnMeters(kept, claim, parts.context))],
    claim,
    parts,
  );
  return { isAnswered: refused !== null, isCleared: refused?.size === 0 };
}

/** Without topics of meters that another account has taken over: that one publishes them. */
function ofOwnMeters(
  { topics, components }: KeptTopics,
  claim: Claim,
  { topics: { base } }: Pick<AccountContext, 'topics'>,
): KeptTopics {
  const places = [`${base}/meter/`, `/${deviceId(base, 'meter', '')}`];
  const meterIn = (topic: string) => places.flatMap((place) => topic.split(place)[1]?.split('/')[0] ?? []);
  const own = <T>(all: Readonly<Record<string, T>>) =>
    Object.fromEntries(
      Object.entries(all).filter(([topic]) =>
        meterIn(topic).every((series) => claim.stored.hasSeries(series)),
      ),
    );
  return { topics: own(topics), components: own(components) };
}

/** Resolves to the topics that the broker has refused, or to `null` when it has not answered: the next run publishes it. */
async function publish(messages: readonly Message[], claim: Claim, { link, context }: Parts) {
  // A process that was stopped here must not publish what is old by now.
  claim.check();
  try {
    return await link.send(messages);
  } catch (fault) {
    context.log.info({ account: claim.id, ...safeWords(fault) }, 'not published yet: the next run does it');
    return null;
  }
}
