// The topics to which an answer may go besides our own: who may ask us could not always write there. A command topic of another
// program is no place for it.

export interface ResponseTopics {
  /** Topics under which others look for what we publish by ourselves: answers go to none of them, nor below. */
  readonly published: readonly string[];
  /** The configuration lets answers go there, and below. */
  readonly allowed: readonly string[];
}

const LONGEST = 512;
/** Brokers end the connection of whoever publishes to more levels: AWS IoT above eight, Mosquitto above two hundred. */
const MOST_LEVELS = 8;
/** The levels of bridge/response/mine. */
const LEVELS_BELOW_BASE = 3;
/** Part of what is allowed, in words. */
export const LARGEST_ANSWER_TOPIC = `at most ${MOST_LEVELS} levels and ${LONGEST} characters`;
/** MQTT lets a broker end the connection over a character that is none. */
const UNFIT = /[+#\p{Cc}\p{Noncharacter_Code_Point}]/u;
/** A level of a topic that is called so says itself that answers come there. */
const ANSWER_LEVEL = /^(responses?|repl(y|ies)|answers?)$/i;

export function isAnswerPlace(
  topic: string,
  baseTopic: string,
  { published, allowed }: ResponseTopics,
): boolean {
  const mostLevels = Math.max(MOST_LEVELS, levelsOf(baseTopic) + LEVELS_BELOW_BASE);
  if (topic.length > LONGEST || levelsOf(topic) > mostLevels) return false;
  if (UNFIT.test(topic) || topic.startsWith('$')) return false;
  const isBelow = (prefix: string) => topic.startsWith(`${prefix}/`);
  const isIn = (prefix: string) => topic === prefix || isBelow(prefix);
  if (isBelow(`${baseTopic}/bridge/response`)) return true;
  if (published.some(isIn)) return false;
  if (isBelow(baseTopic) || allowed.some(isIn)) return true;
  return topic.split('/').some((level) => ANSWER_LEVEL.test(level));
}

const levelsOf = (topic: string): number => topic.split('/').length;
