// Looks for secrets in a text, such as a dump of the database: as they are, and as columns of bytes or JSON may hold them.

/** Those of the secrets that are in there, with how they were written. */
export function leaksIn(text: string, secrets: readonly string[]): string[] {
  return secrets.flatMap((secret) =>
    [...writings(secret)]
      .filter(([, written]) => text.includes(written))
      .map(([how]) => `${secret.slice(0, 20)} (${how})`),
  );
}

function writings(secret: string): Map<string, string> {
  const bytes = Buffer.from(secret, 'utf8');
  // Base64 of it within a longer text, which may begin one or two bytes before.
  const within = [0, 1, 2].map((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    return [`base64, ${before}`, text.slice(before === 0 ? 0 : before + 1, -1)] as const;
  });
  return new Map([['plain', secret], ['hex', bytes.toString('hex')], ...within]);
}
