// Waiting until everything in this process has come to rest: files, requests, and messages between sockets.
import { subscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';

const underWay = new Set<unknown>();
const note = (channel: string, seen: (request: unknown) => void) =>
  subscribe(`undici:request:${channel}`, (message) => seen((message as { request: unknown }).request));
note('create', (request) => underWay.add(request));
note('trailers', (request) => underWay.delete(request));
note('error', (request) => underWay.delete(request));
subscribe('http.client.request.start', (message) => {
  const { request } = message as { request: ClientRequest };
  underWay.add(request);
  request.once('close', () => underWay.delete(request));
});

// A message takes a few turns of the loop from one socket of this process to another; time does not matter.
const TURNS = 12;
const LONGEST_MS = 3_000;

/** `held`: how many requests a server keeps waiting on purpose; they do not count. */
export async function untilAtRest(held: () => number = () => 0): Promise<void> {
  const end = performance.now() + LONGEST_MS;
  let calm = 0;
  while (calm < TURNS && performance.now() < end) {
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (isWritingFiles()) {
      calm = 0;
      await new Promise<void>((resolve) => setTimeout(resolve, 1));
    } else calm = underWay.size > held() ? 0 : calm + 1;
  }
}

// As Node calls what the file system has under way; the last one closes a file handle.
const AT_FILES = ['FSReqCallback', 'FSReqPromise', 'FileHandle', 'FileHandleCloseReq', 'CloseReq'];
const isWritingFiles = (): boolean =>
  process.getActiveResourcesInfo().some((name) => AT_FILES.includes(name));
