// The server's answers in JSON to what the page asks for beside the documents.
import type { AuthState } from '../../domain/health.ts';

export interface Session {
  readonly version: string;
  readonly signedIn: boolean;
  readonly needsPassword: boolean;
}

export type Method = 'password' | 'device' | 'link';

/** An account that has no session at the provider. */
export interface SignIn {
  readonly account: string;
  readonly state: AuthState;
  readonly reason: { readonly message: string } | null;
  readonly methods: readonly Method[];
  /** It is there while a refusal is in force. */
  readonly budget: { readonly refusals: number; readonly nextAttemptAt: string | null } | null;
  /** The sign-in under way: a code, and the address of a link. */
  readonly device: Device | null;
  readonly link: string | null;
}

export interface Device {
  readonly state: 'waiting' | 'done' | 'failed';
  readonly error?: { readonly message: string };
  readonly verification_uri: string;
  readonly verification_uri_complete: string | null;
  readonly user_code: string;
  readonly expires_at: string;
  /** The address as a path within a square of `size`; `null`: it is too long. */
  readonly qr: { readonly size: number; readonly path: string } | null;
}

/** The sources that would be added to the Energy dashboard. `digest`: of the whole change. */
export interface DashboardChange {
  readonly added: readonly {
    readonly name: string | null;
    readonly energy: string | null;
    readonly cost: string | null;
  }[];
  readonly refusals: readonly string[];
  readonly cautions: readonly string[];
  readonly digest: string;
}

export type BrokerState = 'connected' | 'disconnected' | 'none';

/** A line of the bridge's log. */
export interface LogLine {
  readonly time?: string;
  readonly level?: string;
  readonly message: string;
}
