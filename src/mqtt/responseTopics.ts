// The topics to which an answer may go besides our own: whoever may ask us could not always write there. A command topic of another
// program is no place for it.
import { EXIT, type Failure, failure } from '../foundation/failure.ts';

export interface ResponseTopics {
  /** Topics under which others look for what we publish by ourselves: answers go to none of them, nor below. */
  readonly own: readonly string[];
  /** The configuration lets answers go there, and below. */
  readonly allowed: readonly string[];
}

const LONGEST = 512;
const LONGEST_ECHO = 60;
/** A level of a topic that is called so says itself that answers come there. */
const ANSWER_LEVEL = /^(responses?|repl(y|ies)|answers?)$/i;

/** `null`: an answer may go there. */
export function refusalOfResponseTopic(
  topic: string,
  baseTopic: string,
  topics: ResponseTopics,
): Failure | null {
  if (isAllowed(topic, baseTopic, topics)) return null;
  const found = JSON.stringify(topic).slice(0, LONGEST_ECHO);
  const below = `one below ${baseTopic}, such as ${baseTopic}/bridge/response/mine`;
  const elsewhere = 'one with a level response, reply or answer, such as node-red/reply';
  const allowed = `${below}, but none of our own; elsewhere ${elsewhere}`;
  return failure('response_topic_refused', `response topic: found ${found}; allowed: ${allowed}.`, {
    exit: EXIT.usage,
    retry: 'never',
    hint: 'mqtt.response_topics in the configuration allows more.',
  });
}

function isAllowed(topic: string, baseTopic: string, { own, allowed }: ResponseTopics): boolean {
  if (topic.length > LONGEST || /[+#\0]/.test(topic) || topic.startsWith('$')) return false;
  const isBelow = (prefix: string) => topic.startsWith(`${prefix}/`);
  const isIn = (prefix: string) => topic === prefix || isBelow(prefix);
  if (isBelow(`${baseTopic}/bridge/response`)) return true;
  if (own.some(isIn)) return false;
  if (isBelow(baseTopic) || allowed.some(isIn)) return true;
  return topic.split('/').some((level) => ANSWER_LEVEL.test(level));
}
