// The topics to which an answer may go besides our own: who may ask us could not always write there. A command topic of another
// program is no place for it.

export interface ResponseTopics {
  /** Topics under which others look for what we publish by ourselves: answers go to none of them, nor below. */
  readonly published: readonly string[];
  /** The configuration lets answers go there, and below. */
  readonly allowed: readonly string[];
}

const LONGEST = 512;
/** A level of a topic that is called so says itself that answers come there. */
const ANSWER_LEVEL = /^(responses?|repl(y|ies)|answers?)$/i;

export function isAnswerPlace(
  topic: string,
  baseTopic: string,
  { published, allowed }: ResponseTopics,
): boolean {
  if (topic.length > LONGEST || /[+#\0]/.test(topic) || topic.startsWith('$')) return false;
  const isBelow = (prefix: string) => topic.startsWith(`${prefix}/`);
  const isIn = (prefix: string) => topic === prefix || isBelow(prefix);
  if (isBelow(`${baseTopic}/bridge/response`)) return true;
  if (published.some(isIn)) return false;
  if (isBelow(baseTopic) || allowed.some(isIn)) return true;
  return topic.split('/').some((level) => ANSWER_LEVEL.test(level));
}
