// A conversation with Home Assistant: one question, one answer, within a deadline. The door to its own client.
import { type Clock, deadline } from '../foundation/clock.ts';
import { openSocket, type Place } from './socket.ts';
import { HomeAssistantTrouble } from './trouble.ts';

export interface Question {
  readonly type: string;
  readonly [key: string]: unknown;
}

export interface HomeAssistant {
  /** As `2026.10`. */
  readonly version: string;
  /** Rejects with HomeAssistantTrouble. */
  ask(question: Question): Promise<unknown>;
  close(): void;
}

const ANSWER_MS = 60_000;

/** Rejects with HomeAssistantTrouble. The signal ends the connection, whatever is under way on it. */
export async function connectHomeAssistant(
  place: Place,
  clock: Clock,
  signal: AbortSignal,
): Promise<HomeAssistant> {
  const { Connection } = await import('home-assistant-js-websocket');
  const socket = await openSocket(place, clock, signal);
  type Socket = ConstructorParameters<typeof Connection>[0];
  const connection = new Connection(socket as unknown as Socket, {
    setupRetry: 0,
    createSocket: () => Promise.reject(new HomeAssistantTrouble('cut')),
  });
  // Who tries again, and when, is decided in front of this.
  connection.addEventListener('disconnected', () => connection.close());

  return {
    version: socket.haVersion,
    async ask(question) {
      const limit = deadline(clock, ANSWER_MS);
      const silence = new Promise<never>((_, reject) => {
        limit.signal.addEventListener('abort', () => reject(new HomeAssistantTrouble('silent')));
      });
      try {
        return await Promise.race([connection.sendMessagePromise<unknown>({ ...question }), silence]);
      } catch (err) {
        throw troubleFrom(err);
      } finally {
        limit.clear();
      }
    },
    close: () => connection.close(),
  };
}

function troubleFrom(err: unknown): HomeAssistantTrouble {
  if (err instanceof HomeAssistantTrouble) return err;
  const code = typeof err === 'object' && err !== null && 'code' in err ? String(err.code) : undefined;
  // The client's own words for a lost connection have another shape.
  if (code === undefined) return new HomeAssistantTrouble('cut');
  if (code === 'unauthorized') return new HomeAssistantTrouble('not_admin');
  if (code === 'unknown_command') return new HomeAssistantTrouble('no_recorder');
  const isCode = /^[a-z_]{1,40}$/.test(code);
  return new HomeAssistantTrouble('refused', isCode ? code : 'without a known reason');
}
