// What Home Assistant takes as a device discovery document, and what it would refuse, drop or quietly ignore.
import {
  entityComplaints,
  type Fields,
  isFields,
  isText,
  isTopic,
  KEYS_OF_PLATFORM,
} from './homeAssistantEntities.ts';

/** Given by the document to each component that does not say otherwise. An unknown key loses the whole document. */
const SHARED = [
  'availability',
  'availability_mode',
  'availability_topic',
  'availability_template',
  'payload_available',
  'payload_not_available',
  'state_topic',
  'command_topic',
  'qos',
  'encoding',
  'message_expiry_interval',
];
const TOP = ['device', 'origin', 'components', ...SHARED];
const DEVICE = [
  'identifiers',
  'connections',
  'manufacturer',
  'model',
  'model_id',
  'name',
  'hw_version',
  'sw_version',
  'serial_number',
  'via_device',
  'suggested_area',
  'configuration_url',
];
const ORIGIN = ['name', 'sw_version', 'support_url'];

/** What is wrong with one message on a discovery topic, one line each. */
export function documentComplaints(topic: string, payload: string, prefix = 'homeassistant'): string[] {
  const rest = topic.startsWith(`${prefix}/`) ? topic.slice(prefix.length) : '';
  const misplaced = /^\/device\/([a-zA-Z0-9_-]+\/)?[a-zA-Z0-9_-]+\/config$/.test(rest)
    ? []
    : [`topic ${topic}`];
  const document = parse(payload);
  if (!isFields(document)) return [...misplaced, 'no JSON object'];
  const { device, origin, components } = document;
  return [
    ...misplaced,
    ...unknown('document', document, TOP),
    ...(isFields(device) ? deviceComplaints(device) : ['no device']),
    ...(isFields(origin) ? originComplaints(origin) : ['no origin']),
    ...availabilityComplaints(document),
    ...(isFields(components) && Object.keys(components).length > 0
      ? Object.entries(components).flatMap(([key, body]) =>
          componentComplaints(key, body, document, isFields(device) ? device : {}).map(
            (what) => `${key}: ${what}`,
          ),
        )
      : ['no components']),
    ...(isFields(components) ? sameNames(components) : []),
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
  return [
    ...messages.flatMap(({ topic, payload }) => documentComplaints(topic, payload, prefix)),
    ...repeated(
      'topic',
      messages.map(({ topic }) => topic),
    ),
    ...repeated(
      'unique id',
      bodies.map(({ platform, unique_id }) => `${platform} ${unique_id}`),
    ),
    ...repeated(
      'entity id',
      bodies.map(({ default_entity_id }) => String(default_entity_id)),
    ),
  ];
}

function deviceComplaints(device: Fields): string[] {
  const { identifiers, connections, name, configuration_url: url } = device;
  const ids = Array.isArray(identifiers) ? identifiers : [identifiers];
  const isKnown = identifiers !== undefined && ids.length > 0 && ids.every(isText);
  return [
    ...unknown('device', device, DEVICE),
    ...(isKnown || Array.isArray(connections) ? [] : ['device without identifiers']),
    ...(isText(name) ? [] : ['device without a name']),
    ...(url === undefined || /^(https?|homeassistant):\/\//.test(String(url)) ? [] : ['configuration_url']),
    ...notText('device', device, ['identifiers', 'connections']),
  ];
}

function originComplaints(origin: Fields): string[] {
  return [
    ...unknown('origin', origin, ORIGIN),
    ...(isText(origin.name) ? [] : ['origin without a name']),
    ...notText('origin', origin, []),
  ];
}

function availabilityComplaints({ availability, availability_topic: topic, qos }: Fields): string[] {
  return [
    ...(availability !== undefined && topic !== undefined ? ['two kinds of availability'] : []),
    ...(topic === undefined || isTopic(topic) ? [] : ['availability_topic is no topic']),
    ...(qos === undefined || qos === 0 || qos === 1 || qos === 2 ? [] : ['qos']),
  ];
}

function componentComplaints(key: string, body: unknown, document: Fields, device: Fields): string[] {
  if (!isFields(body)) return ['no body'];
  const { platform } = body;
  const keys = KEYS_OF_PLATFORM[String(platform)];
  if (keys === undefined) return [`platform ${platform}`];
  if (!isWhole(body)) return [];
  return [
    ...(/^[a-zA-Z0-9_-]+$/.test(key) ? [] : ['key']),
    ...(isText(body.unique_id) ? [] : ['no unique_id']),
    ...unknown('body', body, ['platform', ...keys]),
    ...availabilityComplaints(body),
    ...nameComplaints(body.name, device.name),
    ...entityComplaints(body, document),
  ];
}

/** Reduced to its platform, a component is removed. */
const isWhole = (body: Fields): boolean => Object.keys(body).some((key) => key !== 'platform');

function nameComplaints(name: unknown, deviceName: unknown): string[] {
  if (name === null) return [];
  if (!isText(name)) return ['no name'];
  return name.toLowerCase().includes(String(deviceName).toLowerCase()) ? ['name repeats the device'] : [];
}

function sameNames(components: Fields): string[] {
  return repeated(
    'name',
    Object.values(components).flatMap((body) => (isFields(body) && isText(body.name) ? [body.name] : [])),
  );
}

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
