// The broker's view of one account, and what it is still to be told, are kept in one document of the account, so that
// whichever process has it next goes on with them.
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

interface Published extends KeptTopics {
  /** The version and currency that its lists were written by; `null`: not all of these are published yet. */
  readonly lists: string | null;
  readonly told: Told;
  /** Oldest first; they stay until the broker has acknowledged them. */
  readonly events: readonly Message[];
}

type Sender = Pick<Link, 'send'>;

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

const documentOf = ({ stored }: Claim) => stored.document('published', publishedCodec);

const NOTHING = { topics: {}, components: {}, lists: null, events: [] };

/** The account goes on from what the turn before has left. */
export async function readPublished(claim: Claim, account: Account): Promise<Published> {
  // A household that was moved here may have left some untold.
  const ofHousehold = { ...NOTHING, told: account.told, events: account.journal.record.untold };
  const published = (await documentOf(claim).read()) ?? ofHousehold;
  account.told = published.told;
  return published;
}

/** The end of a turn, as far as the broker has to know of it. */
interface Ended {
  readonly account: Account;
  /** `readPublished` gave it. */
  readonly published: Published;
  /** Events of this turn: the documents of the account need not remember them. */
  readonly events: readonly Message[];
  readonly claim: Claim;
  readonly context: AccountContext;
}

/**
 * Publishes what is new of the account. `writeDown` is awaited before, where a process that dies meanwhile must leave something to the
 * next one: what that is to publish, or to clear. What the broker has then is written with the end of the turn. Resolves to whether it
 * has answered.
 */
export async function publishNews(ended: Ended, link: Sender, writeDown: () => Promise<void>) {
  const { account, published, claim, context } = ended;
  const document = documentOf(claim);
  const before = { ...published, ...ofOwnMeters(published, claim, context) };
  const meters = account.meterViews();
  const events = [...before.events, ...ended.events, ...eventsOfStates(account, meters, context)];
  // From here on this document remembers them, and those of the account need not.
  for (const { onAnswered } of events) onAnswered?.();
  const hasNews = claim.stored.hasNews();
  const lists = `${about.version} ${account.extras.currency}`;
  const areListsSame = before.lists === lists && !hasNews;
  const diff = new RetainedDiff(before);
  if (claim.row.republish > 0) diff.forget();
  const topics = composeAccount(account.view(), meters, placesOf(context));
  const changed = diff.take(account.id, topics, areListsSame);
  // While a history is incomplete, a meter may only be read again.
  const retained = account.isIncomplete ? changed : [...changed, ...diff.gone()];

  const { told } = account;
  const untold: Published = {
    topics: { ...Object.fromEntries(topics.map(({ topic }) => [topic, ''])), ...before.topics },
    components: before.components,
    lists: areListsSame ? lists : null,
    told,
    events,
  };
  await document.write(untold);
  const isTopicNew = topics.some(({ topic }) => !(topic in before.topics));
  if (isTopicNew || hasNews || events.length > before.events.length) await writeDown();

  const refused = await send([...retained, ...events], claim, link, context);
  if (refused === null) return false;
  for (const message of retained) if (!refused.has(message.topic)) diff.delivered(message);
  // The next run tries these again.
  diff.forget((topic) => refused.has(topic));
  await document.write({ ...diff.kept(), lists, told, events: [] });
  return true;
}

function placesOf({ topics, config }: AccountContext) {
  const { discovery_prefix: prefix } = config.mqtt;
  const language = homeLanguage(config.language);
  return { topics, discovery: prefix === false ? null : { prefix, topics, page: null, language } };
}

/** Clears the topics of an account that is being removed. Resolves to whether the broker has answered, and to whether it has taken that. */
export async function clearTopics(
  claim: Claim,
  link: Sender,
  context: Pick<AccountContext, 'log' | 'topics'>,
) {
  const { events, ...topics } = (await documentOf(claim).read()) ?? NOTHING;
  const withdrawn = withdrawAll(ofOwnMeters(topics, claim, context));
  const refused = await send([...events, ...withdrawn], claim, link, context);
  return { isAnswered: refused !== null, isCleared: refused?.size === 0 };
}

/** Meters that another account has taken over are left out: that one publishes them. */
function ofOwnMeters(
  { topics, components }: KeptTopics,
  { stored }: Claim,
  { topics: { base } }: Pick<AccountContext, 'topics'>,
): KeptTopics {
  const places = [`${base}/meter/`, `/${deviceId(base, 'meter', '')}`];
  const meterIn = (topic: string) => places.flatMap((place) => topic.split(place)[1]?.split('/')[0] ?? []);
  const isOwn = (topic: string) => meterIn(topic).every((series) => stored.hasSeries(series));
  const filtered = <T>(byTopic: Readonly<Record<string, T>>) =>
    Object.fromEntries(Object.entries(byTopic).filter(([topic]) => isOwn(topic)));
  return { topics: filtered(topics), components: filtered(components) };
}

/** Resolves to the topics that the broker has refused, or to `null` when it has not answered: the next run publishes it. */
async function send(
  messages: readonly Message[],
  claim: Claim,
  link: Sender,
  { log }: Pick<AccountContext, 'log'>,
): Promise<ReadonlySet<string> | null> {
  // A process that was stopped here must not publish what is old by now.
  claim.check();
  try {
    return await link.send(messages);
  } catch (fault) {
    log.info({ account: claim.id, ...safeWords(fault) }, 'not published yet: the next run does it');
    return null;
  }
}
