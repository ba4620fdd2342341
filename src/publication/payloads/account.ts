// What is said of an account, as schemas; its state is derived from the table of entities.
import { ACCOUNT_ROWS } from '../accountEntities.ts';
import { count } from './parts.ts';
import { stateOf } from './states.ts';

export const accountState = stateOf(ACCOUNT_ROWS, { requests_today: count, logins_today: count }).describe(
  'Everything that is known of an account now.',
);
