// The first minutes of a Home Assistant without a browser: its owner, a token with a long life, the MQTT integration.
import { type Fields, isFields } from '../support/fields.ts';
import { type Api, connect } from './api.ts';

export const OWNER = { name: 'Ada', username: 'ada', password: 'heat-of-ada' };
const ZONE = 'Europe/Dublin';

/** Makes the owner, answers every question, and gives a token with a long life. */
export async function onboard(url: string): Promise<string> {
  const client = `${url}/`;
  const { auth_code } = await said(`${url}/api/onboarding/users`, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_id: client, language: 'en', ...OWNER }),
  });
  const form = { grant_type: 'authorization_code', code: String(auth_code), client_id: client };
  const { access_token } = await said(`${url}/auth/token`, { body: new URLSearchParams(form) });
  const api = await connect(url, String(access_token));
  for (const step of ['core_config', 'analytics']) await api.post(`/api/onboarding/${step}`, {});
  await api.post('/api/onboarding/integration', {
    client_id: client,
    redirect_uri: `${url}/?auth_callback=1`,
  });
  const place = { time_zone: ZONE, country: 'IE', currency: 'EUR', unit_system: 'metric', language: 'en' };
  await api.ask('config/core/update', { location_name: 'Home', ...place });
  const token = await api.ask('auth/long_lived_access_token', { client_name: 'heat2mqtt', lifespan: 30 });
  api.stop();
  return String(token);
}

/** Sets the MQTT integration up, as a person would who fills in the broker's address and nothing else. */
export async function setUpMqtt(api: Api, port: number): Promise<void> {
  const FLOW = '/api/config/config_entries/flow';
  let step = await api.post(FLOW, { handler: 'mqtt', show_advanced_options: false });
  for (let forms = 0; step.type === 'form' && forms < 3; forms++) {
    const answer = filledIn(step.data_schema, { broker: '127.0.0.1', port });
    step = await api.post(`${FLOW}/${step.flow_id}`, answer);
  }
  if (step.type !== 'create_entry') throw new Error(`the MQTT flow ended in ${JSON.stringify(step)}`);
}

/** What is known, and for whatever else is required what its form shows before anybody touches it. */
function filledIn(schema: unknown, known: Fields): Record<string, unknown> {
  const fields = Array.isArray(schema) ? schema.filter(isFields) : [];
  return Object.fromEntries(
    fields.flatMap((field) => {
      const name = String(field.name);
      if (name in known) return [[name, known[name]]];
      return field.required ? [[name, untouched(field)]] : [];
    }),
  );
}

function untouched({ type, schema, default: usual, selector = {} }: Fields): unknown {
  if (type === 'expandable') return filledIn(schema, {});
  if (usual !== undefined || !isFields(selector)) return usual;
  const { boolean, select } = selector;
  if (boolean) return false;
  return isFields(select) && Array.isArray(select.options) ? select.options[0] : undefined;
}

async function said(address: string, request: RequestInit): Promise<Fields> {
  const reply = await fetch(address, { method: 'POST', ...request });
  const body: unknown = await reply.json();
  if (!reply.ok || !isFields(body))
    throw new Error(`${address}: HTTP ${reply.status} ${JSON.stringify(body)}`);
  return body;
}
