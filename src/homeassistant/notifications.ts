// Persistent notifications: what stands below the bell of Home Assistant's sidebar, until a person dismisses it or it restarts.
import type { HomeAssistant } from './connection.ts';
import { HomeAssistantTrouble } from './trouble.ts';

/** One with the same id takes its place. */
export interface Notification {
  readonly id: string;
  readonly title: string;
  /** Markdown. */
  readonly message: string;
}

/** The ids of all that stand there now. */
export async function standingNotifications(home: HomeAssistant): Promise<string[]> {
  const reply = await home.send({ type: 'persistent_notification/get' });
  if (!Array.isArray(reply)) throw new HomeAssistantTrouble('strange', 'about notifications');
  return reply.map((one) => String(Object(one).notification_id));
}

export const notify = (home: HomeAssistant, { id, title, message }: Notification): Promise<unknown> =>
  call(home, 'create', { notification_id: id, title, message });

export const dismiss = (home: HomeAssistant, id: string): Promise<unknown> =>
  call(home, 'dismiss', { notification_id: id });

const call = (home: HomeAssistant, service: string, service_data: object): Promise<unknown> =>
  home.send({ type: 'call_service', domain: 'persistent_notification', service, service_data });
