// The schemas of requests say what the daemon takes: all that they allow is understood, and what they refuse is refused.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { SCHEMAS } from '../../scripts/docs/schemas.ts';
import { firstPoll } from '../support/story.ts';

const HOUSE = '/ie/oireachtas/house/dail/33';
const ajv = new Ajv2020({ formats: { date: true } });

/** Request, parameters, and the one that is refused by its name; `null`: they are taken. */
const ASKED: readonly (readonly [string, object, string | null])[] = [
  ['health', {}, null],
  ['health', { transaction: 7 }, null],
  ['health', { verbose: true }, 'verbose'],
  ['refresh', { transaction: 'abc' }, null],
  ['refresh', { force: true }, 'force'],
  ['backfill', { from: '2025-03-01' }, null],
  ['backfill', { from: '2025-03-01', to: '2025-03-02', transaction: 'x' }, null],
  ['backfill', {}, 'from'],
  ['backfill', { from: 'yesterday' }, 'from'],
  ['backfill', { from: '2025-02-30' }, 'from'],
  ['backfill', { from: '2025-03-01', until: '2025-03-02' }, 'until'],
  ['constituencies', {}, null],
  ['constituencies', { chamber: '', force: true }, null],
  ['constituencies', { chamber: 'seanad', house_no: 27, skip: 0, limit: 5_000 }, null],
  ['constituencies', { chamber_id: HOUSE }, null],
  ['constituencies', { chamber_id: [HOUSE, `https://data.oireachtas.ie${HOUSE}`] }, null],
  ['constituencies', { chamber: 'commons' }, 'chamber'],
  ['constituencies', { house_no: 0 }, 'house_no'],
  ['constituencies', { house_no: 0.5 }, 'house_no'],
  ['constituencies', { house_no: 10_000 }, 'house_no'],
  ['constituencies', { limit: -1 }, 'limit'],
  ['constituencies', { limit: 5_001 }, 'limit'],
  ['constituencies', { limit: '10' }, 'limit'],
  ['constituencies', { skip: 1_000_001 }, 'skip'],
  ['constituencies', { chamber_id: '/house/33' }, 'chamber_id'],
  ['constituencies', { chamber_id: ['http://evil/house'] }, 'chamber_id'],
  ['constituencies', { chamber_id: Array.from({ length: 51 }, () => HOUSE) }, 'chamber_id'],
  ['constituencies', { force: 'yes' }, 'force'],
  ['constituencies', { chambre: 'dail' }, 'chambre'],
];

test('schema and daemon agree on each request; what is refused is named, asks nobody and touches no other topic', async () => {
  const { story, probe, simulator } = await firstPoll({ config: { constituencies: {} } });
  for (const [what, parameters, refused] of ASKED) {
    const told = JSON.stringify([what, parameters]);
    const schema = SCHEMAS.get(`bridge/request/${what}`) ?? false;
    expect([told, ajv.validate(schema, parameters)]).toEqual([told, refused === null]);
    probe.forget();
    const asked = simulator.requests.length;
    const [request, response] = [`heat2mqtt/bridge/request/${what}`, `heat2mqtt/bridge/response/${what}`];
    await probe.publish(request, JSON.stringify(parameters));
    await story.rest();
    const answer = await probe.until(response);
    if (refused === null) {
      await story.pass(2_000);
      expect([told, Object(answer.error).code]).not.toEqual([told, 'request_malformed']);
      continue;
    }
    expect([told, answer]).toMatchObject([
      told,
      { status: 'error', error: { code: 'request_malformed', message: expect.stringContaining(refused) } },
    ]);
    expect(probe.heard.map(({ topic }) => topic)).toEqual([request, response]);
    expect(simulator.requests).toHaveLength(asked);
  }
});
