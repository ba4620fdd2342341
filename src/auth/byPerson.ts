// A person signs in: on another device, by a link, or with a password that is typed. The command and the page use it.
import { EXIT, failure } from '../foundation/failure.ts';
import type { LoginBudget } from './loginBudget.ts';
import { type CodeFlow, type DeviceFlow, type Issuer, withQuery } from './oidc.ts';
import type { Session } from './session.ts';
import type { Grant } from './tokens.ts';

/** The method cannot be used with this configuration, or at this provider. */
export const methodUnusable = (exit: number, message: string, hint: string) =>
  failure('method_unusable', message, { exit, retry: 'never', hint });

export const noRedirectUri = (what: string) =>
  methodUnusable(
    EXIT.config,
    `${what} needs provider.redirect_uri: an address that the provider has registered for provider.client_id.`,
    "The address bar of the provider's own login page shows it after redirect_uri=.",
  );

/** Stores what a person has brought: no refusal counts any more. */
export async function storeGrant(
  grant: Grant,
  { session, budget }: { readonly session: Session; readonly budget: LoginBudget },
): Promise<void> {
  await session.storeGrant(grant);
  await budget.forget();
}

/** Rejects with method_unusable, and as `beginDeviceFlow` does. */
export async function beginDevice(issuer: Issuer): Promise<DeviceFlow> {
  const flow = await issuer.withScope((scope) => issuer.beginDeviceFlow(scope));
  if (flow !== null) return flow;
  throw methodUnusable(
    EXIT.credentials,
    'The issuer does not offer to sign in on another device.',
    'Configure provider.redirect_uri, and sign in by a link (--method link).',
  );
}

/** What is wrong with an address that was pasted; it is not repeated, for it may hold a code. */
export function mistakeOf(pasted: string, { state }: CodeFlow): string | null {
  if (!URL.canParse(pasted)) return 'This is no address. Copy the whole of it, from https:// to its end.';
  const given = withQuery(new URL(pasted)).searchParams;
  if (!given.has('code') && !given.has('error'))
    return 'This address has no code: it is not the one after signing in, or the page has cleaned it. The network view of the browser still has it.';
  if (given.get('state') !== state)
    return 'This address belongs to another attempt. Use the one shown above.';
  return null;
}
