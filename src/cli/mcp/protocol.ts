// The Model Context Protocol on lines of JSON, in both of its eras: with a handshake (up to 2025-11-25), and with the revision in each
// request (2026-07-28). Pure: a message in, an answer out.
import { about } from '../../foundation/about.ts';
import { Failure } from '../../foundation/failure.ts';

/** One question that an assistant may ask. */
export interface Tool {
  readonly name: string;
  /** The model reads it. */
  readonly description: string;
  /** JSON Schemas of objects. */
  readonly inputSchema: object;
  readonly outputSchema: object;
  /** Resolves to the answer, and a sentence about it. Rejects with a Failure for arguments that are not allowed. */
  readonly call: (given: Fields) => Promise<{ readonly sentence: string; readonly data: object }>;
}

const WITH_HANDSHAKE = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];
const WITHOUT_HANDSHAKE = ['2026-07-28'];
const NEWEST_WITH_HANDSHAKE = '2025-11-25';
const SUPPORTED = [...WITHOUT_HANDSHAKE, ...WITH_HANDSHAKE];
const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
const SERVER_KEY = 'io.modelcontextprotocol/serverInfo';
/** A client may keep what it has been told for an hour. */
const LASTING = { ttlMs: 3_600_000, cacheScope: 'public' };

const NOT_JSON = -32700;
const NO_REQUEST = -32600;
const UNKNOWN_METHOD = -32601;
const WRONG_PARAMETERS = -32602;
const UNKNOWN_VERSION = -32022;

const SERVER = { name: about.name, version: about.version };
const CAPABILITIES = { tools: {} };
const INSTRUCTIONS =
  'Readings of a communal heat meter, its bills and forecasts, as they are on the disk of this bridge. Days are local days. Every number is measured or computed by the bridge; null means that it is not known. Nothing can be changed.';

type Fields = Readonly<Record<string, unknown>>;

/** An error of the protocol. */
class ProtocolError extends Error {
  readonly error: object;

  constructor(code: number, message: string, data?: object) {
    super(message);
    this.error = { code, message, data };
  }
}

/** The answer to one line, a list for one that has several messages; `null`: it wants none. Never rejects. */
export async function answerLine(line: string, tools: readonly Tool[]): Promise<object | null> {
  let json: unknown;
  try {
    json = JSON.parse(line);
  } catch {
    return errorAnswer(null, new ProtocolError(NOT_JSON, 'This is not JSON.'));
  }
  // Clients of 2025-03-26 may send several messages at once.
  if (!Array.isArray(json) || json.length === 0) return answerTo(fieldsOf(json), tools);
  const answers: object[] = [];
  for (const message of json) {
    const answer = await answerTo(fieldsOf(message), tools);
    if (answer !== null) answers.push(answer);
  }
  return answers.length > 0 ? answers : null;
}

async function answerTo(message: Fields, tools: readonly Tool[]): Promise<object | null> {
  const { method, params } = message;
  const id = typeof message.id === 'string' || typeof message.id === 'number' ? message.id : null;
  try {
    if (typeof method !== 'string') {
      // An answer to a question that was never asked.
      if (id !== null && !('method' in message)) return null;
      throw new ProtocolError(NO_REQUEST, 'This is no request.');
    }
    // A notification.
    if (id === null) return null;
    const given = fieldsOf(params);
    const hasHandshake = revisionOf(given) === null && method !== 'server/discover';
    const result = await resultOf(method, given, hasHandshake, tools);
    return { jsonrpc: '2.0', id, result: hasHandshake ? result : complete(result) };
  } catch (err) {
    if (!(err instanceof ProtocolError)) throw err;
    return errorAnswer(id, err);
  }
}

const errorAnswer = (id: string | number | null, { error }: ProtocolError) => ({ jsonrpc: '2.0', id, error });

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});

/** The revision that a request without a handshake names; `null`: it names none. */
function revisionOf({ _meta: meta }: Fields): string | null {
  const named = fieldsOf(meta)[VERSION_KEY];
  if (named === undefined) return null;
  if (typeof named === 'string' && SUPPORTED.includes(named)) return named;
  throw new ProtocolError(UNKNOWN_VERSION, 'This revision of the protocol is not known.', {
    supported: SUPPORTED,
  });
}

const complete = (result: object) => ({
  resultType: 'complete',
  ...result,
  _meta: { [SERVER_KEY]: SERVER },
});

async function resultOf(
  method: string,
  given: Fields,
  hasHandshake: boolean,
  tools: readonly Tool[],
): Promise<object> {
  if (method === 'initialize') return initialized(given.protocolVersion);
  if (method === 'ping') return {};
  if (method === 'server/discover')
    return {
      supportedVersions: SUPPORTED,
      capabilities: CAPABILITIES,
      instructions: INSTRUCTIONS,
      ...LASTING,
    };
  if (method === 'tools/list') return { tools: tools.map(listed), ...(hasHandshake ? {} : LASTING) };
  if (method === 'tools/call') return called(given, tools);
  throw new ProtocolError(UNKNOWN_METHOD, 'There is no such method.');
}

/** The revision that was asked for if it is known, else the newest one. */
function initialized(asked: unknown) {
  const isKnown = typeof asked === 'string' && WITH_HANDSHAKE.includes(asked);
  return {
    protocolVersion: isKnown ? asked : NEWEST_WITH_HANDSHAKE,
    capabilities: CAPABILITIES,
    serverInfo: SERVER,
    instructions: INSTRUCTIONS,
  };
}

const listed = ({ name, description, inputSchema, outputSchema }: Tool) => ({
  name,
  description,
  inputSchema,
  outputSchema,
  annotations: { readOnlyHint: true, openWorldHint: false },
});

/** A mistake in the arguments is a result, so that the model can mend it. */
async function called({ name, arguments: given }: Fields, tools: readonly Tool[]): Promise<object> {
  const tool = tools.find((candidate) => candidate.name === name);
  if (!tool) throw new ProtocolError(WRONG_PARAMETERS, 'There is no such tool.');
  if (!isObject(given ?? {})) throw new ProtocolError(WRONG_PARAMETERS, 'arguments: allowed: an object.');
  try {
    const { sentence, data } = await tool.call(fieldsOf(given));
    return {
      content: [{ type: 'text', text: `${sentence}\n${JSON.stringify(data)}` }],
      structuredContent: data,
    };
  } catch (err) {
    const text =
      err instanceof Failure ? [err.message, err.hint].filter(Boolean).join(' ') : 'Unexpected fault.';
    return { content: [{ type: 'text', text }], isError: true };
  }
}
