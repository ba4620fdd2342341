// What Home Assistant takes as a device discovery document, and what it would refuse, drop or quietly ignore.
import {
  entityComplaints,
  type Fields,
  isFields,
  isText,
  isTopic,
  KEYS_OF_PLATFORM,
  SHARED,
  wrong,
} from './homeAssistantEntities.ts';

// The document gives these to each component that does not say otherwise. An unknown key loses the whole document.
const TOP = ['device', 'origin', 'components', 'state_topic', 'command_topic', ...SHARED];
const DEVICE =
  'identifiers connections manufacturer model model_id name hw_version sw_version serial_number via_device suggested_area configuration_url'.split(
    ' ',
  );
const ORIGIN = ['name', 'sw_version', 'support_url'];

/** What is wrong with one message on a discovery topic, one line each. */
export function documentComplaints(topic: string, payload: string, prefix = 'homeassistant'): string[] {
  const rest = topic.startsWith(`${prefix}/`) ? topic.slice(prefix.length) : '';
  const misplaced = wrong([
    !/^\/device\/([a-zA-Z0-9_-]+\/)?[a-zA-Z0-9_-]+\/config$/.test(rest),
    `topic ${topic}`,
  ]);
  const document = parse(payload);
  if (!isFields(document)) return [...misplaced, 'no JSON object'];
  const { device, origin, components } = document;
  const bodies = Object.entries(isFields(components) ? components : {});
  return [
    ...misplaced,
    ...unknown('document', document, TOP),
    ...(isFields(device) ? deviceComplaints(device) : ['no device']),
    ...(isFields(origin) ? originComplaints(origin) : ['no origin']),
    ...availabilityComplaints(document),
    ...wrong([bodies.length === 0, 'no components']),
    ...bodies.flatMap(([key, body]) =>
      componentComplaints(key, body, document).map((what) => `${key}: ${what}`),
    ),
    ...repeated(
      'name',
      bodies.flatMap(([, body]) => (isFields(body) && isText(body.name) ? [body.name] : [])),
    ),
  ];
}

/** The same for all documents of one bridge: ids are unique over all of its documents. */
export function discoveryComplaints(
  messages: readonly { topic: string; payload: string }[],
  prefix?: string,
): string[] {
  const bodies = messages.flatMap(({ payload }) => {
    const document = parse(payload);
    return isFields(document) && isFields(document.components)
      ? Object.values(document.components).filter(isFields).filter(isWhole)
      : [];
  });
  const topics = messages.map(({ topic }) => topic);
  const uniqueIds = bodies.map(({ platform, unique_id }) => `${platform} ${unique_id}`);
  const entityIds = bodies.map(({ default_entity_id }) => String(default_entity_id));
  return [
    ...messages.flatMap(({ topic, payload }) => documentComplaints(topic, payload, prefix)),
    ...repeated('topic', topics),
    ...repeated('unique id', uniqueIds),
    ...repeated('entity id', entityIds),
  ];
}

function deviceComplaints(device: Fields): string[] {
  const { identifiers, connections, name, configuration_url: url } = device;
  const ids = Array.isArray(identifiers) ? identifiers : [identifiers];
  const isKnown = identifiers !== undefined && ids.length > 0 && ids.every(isText);
  const isLink = /^(https?|homeassistant):\/\//.test(String(url));
  return [
    ...unknown('device', device, DEVICE),
    ...wrong(
      [!isKnown && !Array.isArray(connections), 'device without identifiers'],
      [!isText(name), 'device without a name'],
      [url !== undefined && !isLink, 'configuration_url'],
    ),
    ...notText('device', device, ['identifiers', 'connections']),
  ];
}

function originComplaints(origin: Fields): string[] {
  return [
    ...unknown('origin', origin, ORIGIN),
    ...wrong([!isText(origin.name), 'origin without a name']),
    ...notText('origin', origin, []),
  ];
}

const availabilityComplaints = ({ availability, availability_topic: topic, qos }: Fields): string[] =>
  wrong(
    [availability !== undefined && topic !== undefined, 'two kinds of availability'],
    [topic !== undefined && !isTopic(topic), 'availability_topic is no topic'],
    [![undefined, 0, 1, 2].includes(qos as number), 'qos'],
  );

function componentComplaints(key: string, body: unknown, document: Fields): string[] {
  if (!isFields(body)) return ['no body'];
  const keys = KEYS_OF_PLATFORM[String(body.platform)];
  if (keys === undefined) return [`platform ${body.platform}`];
  if (!isWhole(body)) return [];
  const { name, unique_id } = body;
  const device = String(Object(document.device).name).toLowerCase();
  return [
    ...wrong(
      [!/^[a-zA-Z0-9_-]+$/.test(key), 'key'],
      [!isText(unique_id), 'no unique_id'],
      [name !== null && !isText(name), 'no name'],
      [isText(name) && name.toLowerCase().includes(device), 'name repeats the device'],
    ),
    ...unknown('body', body, ['platform', ...keys]),
    ...availabilityComplaints(body),
    ...entityComplaints(body, document),
  ];
}

/** Reduced to its platform, a component is removed. */
const isWhole = (body: Fields): boolean => Object.keys(body).some((key) => key !== 'platform');

function repeated(what: string, values: readonly string[]): string[] {
  const twice = values.filter((value, at) => values.indexOf(value) !== at);
  return [...new Set(twice)].map((value) => `${what} ${value} twice`);
}

function unknown(where: string, fields: Fields, allowed: readonly string[]): string[] {
  return Object.keys(fields)
    .filter((key) => !allowed.includes(key))
    .map((key) => `${where}: unknown key ${key}`);
}

function notText(where: string, fields: Fields, except: readonly string[]): string[] {
  return Object.entries(fields)
    .filter(([key, value]) => !except.includes(key) && !isText(value))
    .map(([key]) => `${where}: ${key} is no text`);
}

function parse(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    return undefined;
  }
}
