// A browser as far as the simulated login needs one: it keeps cookies, follows redirects on its host, and fills in forms.

export interface Page {
  readonly url: string;
  readonly status: number;
  readonly html: string;
  /** Where a redirect leads that was not followed, because it leaves the host. */
  readonly location: URL | undefined;
}

export const REDIRECT = 'https://portal.example.org/signed-in';
export const VERIFIER = 'an-invented-verifier-that-is-long-enough-for-rfc-7636';

export class Browser {
  readonly cookies = new Map<string, string>();

  open(url: string): Promise<Page> {
    return this.#go(url);
  }

  /** Posts the form of the page with its hidden fields and these; `action` in place of the form's own. */
  post(page: Page, fields: Record<string, string>, action = actionOf(page)): Promise<Page> {
    const body = new URLSearchParams({ ...hiddenFields(page), ...fields });
    return this.#go(new URL(action, page.url).href, body);
  }

  async signIn(url: string, username = 'me@example.org', password = 'demo'): Promise<Page> {
    return this.post(await this.open(url), { username, password });
  }

  async #go(url: string, body?: URLSearchParams): Promise<Page> {
    const method = body ? 'POST' : 'GET';
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const init: RequestInit = { method, redirect: 'manual', ...(cookie ? { headers: { cookie } } : {}) };
    const response = await fetch(url, body ? { ...init, body } : init);
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      this.cookies.set(name, value);
    }
    const html = await response.text();
    const to = response.headers.get('location');
    const location = to === null ? undefined : new URL(to, url);
    if (location?.host === new URL(url).host) return this.#go(location.href);
    return { url, status: response.status, html, location };
  }
}

function actionOf({ html }: Page): string {
  const action = /<form [^>]*action="([^"]*)"[^>]* method="post"/i.exec(html)?.[1] ?? '';
  return action.replaceAll('&amp;', '&');
}

function hiddenFields({ html }: Page): Record<string, string> {
  const fields = html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g);
  return Object.fromEntries([...fields].map(([, name = '', value = '']) => [name, value]));
}
