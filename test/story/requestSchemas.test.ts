// The schemas of requests say what the daemon takes: all that they allow is understood, and what they refuse is refused.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { SCHEMAS } from '../../scripts/docs/schemas.ts';
import { openStory } from '../support/story.ts';

const HOUSE = '/ie/oireachtas/house/dail/33';
const ajv = new Ajv2020({ formats: { date: true } });

const ASKED: readonly (readonly [string, boolean, object])[] = [
  ['health', true, {}],
  ['health', true, { transaction: 7 }],
  ['health', false, { verbose: true }],
  ['refresh', true, { transaction: 'abc' }],
  ['refresh', false, { force: true }],
  ['backfill', true, { from: '2025-03-01' }],
  ['backfill', true, { from: '2025-03-01', to: '2025-03-02', transaction: 'x' }],
  ['backfill', false, {}],
  ['backfill', false, { from: 'yesterday' }],
  ['backfill', false, { from: '2025-02-30' }],
  ['backfill', false, { from: '2025-03-01', until: '2025-03-02' }],
  ['constituencies', true, {}],
  ['constituencies', true, { chamber: '', force: true }],
  ['constituencies', true, { chamber: 'seanad', house_no: 27, skip: 0, limit: 5_000 }],
  ['constituencies', true, { chamber_id: HOUSE }],
  ['constituencies', true, { chamber_id: [HOUSE, `https://data.oireachtas.ie${HOUSE}`] }],
  ['constituencies', false, { chamber: 'commons' }],
  ['constituencies', false, { house_no: 0 }],
  ['constituencies', false, { house_no: 10_000 }],
  ['constituencies', false, { limit: -1 }],
  ['constituencies', false, { limit: 5_001 }],
  ['constituencies', false, { skip: 1_000_001 }],
  ['constituencies', false, { chamber_id: '/house/33' }],
  ['constituencies', false, { chamber_id: Array.from({ length: 51 }, () => HOUSE) }],
  ['constituencies', false, { force: 'yes' }],
  ['constituencies', false, { tempo: 3 }],
];

test('schema and daemon agree on each request', async () => {
  const story = await openStory();
  const probe = await story.listen();
  await story.start({ constituencies: { base_url: story.simulator.urls.constituencies } });
  for (const [what, isGood, request] of ASKED) {
    const told = JSON.stringify([what, request]);
    const schema = SCHEMAS.get(`bridge/request/${what}`) ?? false;
    expect([told, ajv.validate(schema, request)]).toEqual([told, isGood]);
    probe.forget();
    await probe.publish(`heat2mqtt/bridge/request/${what}`, JSON.stringify(request));
    await story.pass(2_000);
    const answer = await probe.until(`heat2mqtt/bridge/response/${what}`, () => true);
    const { code } = (answer.error ?? {}) as { code?: string };
    expect([told, code === 'request_malformed']).toEqual([told, !isGood]);
  }
});
