// Takes a name and a password out of the broker's address, where they would be printed with it.

/** Undefined when there is nothing to take out, or the address cannot be understood (a fault of its own). */
export function detachCredentials(
  address: unknown,
): { url: string; username: string | undefined; password: string | undefined } | undefined {
  if (typeof address !== 'string' || !URL.canParse(address)) return undefined;
  const url = new URL(address);
  const { username, password } = url;
  if (url.hostname === '' || (username === '' && password === '')) return undefined;
  const authority = /^([^:]+:\/\/)[^/?#]*@/.exec(address)?.[1];
  if (authority === undefined) return undefined;
  try {
    return {
      // Not url.href, which would write the rest of the address differently than the person did.
      url: address.replace(/^[^:]+:\/\/[^/?#]*@/, authority),
      username: username === '' ? undefined : decodeURIComponent(username),
      password: password === '' ? undefined : decodeURIComponent(password),
    };
  } catch {
    return undefined;
  }
}
