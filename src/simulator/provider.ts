// The simulated provider: identity, billing and the constituencies list on one port, with switches and counters.
import type { Clock } from '../foundation/clock.ts';
import { type AccountOptions, demoAccounts, HEAT_SERVICE, settle } from './accounts.ts';
import { billingRoutes, propertiesOf } from './billing.ts';
import { constituencyRoutes } from './constituencies.ts';
import { Counters, type Route, type SeenRequest } from './exchange.ts';
import { openKeycloak } from './issuer/keycloak.ts';
import { REALM_PATH } from './issuer/realm.ts';
import { listen, type OnReply } from './server.ts';
import { Switches } from './switches.ts';
import { truthAt } from './usage.ts';

export type Simulator = Awaited<ReturnType<typeof startSimulator>>;

/** Rejects with the original error when the port is taken. */
export async function startSimulator(options: {
  readonly clock: Clock;
  /** Default 0: any free port. */
  readonly port?: number;
  /** Default: those of the demo. */
  readonly accounts?: readonly AccountOptions[];
  readonly onReply?: OnReply;
}) {
  const { clock, port = 0, onReply } = options;
  const accounts = settle(options.accounts ?? demoAccounts());
  const switches = new Switches();
  const counters = new Counters();
  const retiredIds = new Set<number>();

  // The routes need the port that only listening gives.
  const routes: Route[] = [];
  const server = await listen({ clock, port, routes, switches, counters, onReply });
  const origin = `http://127.0.0.1:${server.port}`;
  const issuer = `${origin}${REALM_PATH}`;
  const keycloak = openKeycloak(issuer, clock, accounts, switches, counters);
  routes.push(...keycloak.routes);
  routes.push(...billingRoutes({ clock, issuer, accounts, switches, retiredIds }));
  routes.push(...constituencyRoutes(switches));

  const property = (id: number) => {
    const ofId = accounts.flatMap(propertiesOf).find((candidate) => candidate.id === id);
    if (!ofId) throw new Error(`the simulator has no property ${id}`);
    return ofId;
  };

  return {
    urls: { issuer, api: `${origin}/api/v1`, constituencies: `${origin}/v1` },
    port: server.port,
    switches,
    counters,
    accounts: accounts as readonly { readonly username: string }[],
    /** The newest 1000 requests, oldest first. */
    requests: counters.log as readonly SeenRequest[],
    /** The properties of all accounts, or of this one. */
    properties: (username?: string) =>
      accounts
        .filter((account) => username === undefined || account.username === username)
        .flatMap(({ groups }) => groups)
        .flatMap(({ type: groupType, properties }) =>
          properties.map(({ id, services }) => {
            return { id, groupType, identifiers: services.flatMap(({ identifier }) => identifier ?? []) };
          }),
        ),
    /** The amounts booked by now, per local date in Europe/Dublin. */
    truth: (propertyId: number) => truthAt(property(propertyId), clock.now()),
    changePassword(username: string, password: string) {
      const account = accounts.find((candidate) => candidate.username === username);
      if (!account) throw new Error('the simulator has no such account');
      account.password = password;
    },
    /** Every session ends: refresh tokens answer `Session not active`. */
    endSessions: keycloak.endSessions,
    /** The person's step at the verification address of the device grant. */
    device: keycloak.person,
    /** The property gets another id; questions about the old one are refused. */
    renumberProperty(from: number, to: number) {
      property(from).id = to;
      retiredIds.add(from);
    },
    /** The first heat meter of the property is another one from `at` on (default: now), whose register begins at `register` kWh. */
    exchangeMeter(id: number, identifier: string, { at = clock.now(), register = 0 } = {}) {
      const service = property(id).services.find(({ serviceType }) => serviceType === HEAT_SERVICE);
      if (!service) throw new Error(`the simulator has no heat meter at ${id}`);
      service.earlier.push({ identifier: service.identifier, until: at });
      service.identifier = identifier;
      service.meter?.exchange(at, register);
    },
    stop: () => server.stop(),
  };
}
