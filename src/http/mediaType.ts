// The media type of a reply, as it may be told: the header is text of the other side.

/** The kind of server that answers in place of the one that was asked. */
const KNOWN: ReadonlySet<string> = new Set([
  'application/javascript',
  'application/json',
  'application/jwt',
  'application/octet-stream',
  'application/pdf',
  'application/problem+json',
  'application/problem+xml',
  'application/x-www-form-urlencoded',
  'application/xhtml+xml',
  'application/xml',
  'image/gif',
  'image/jpeg',
  'image/png',
  'image/svg+xml',
  'multipart/form-data',
  'text/css',
  'text/csv',
  'text/html',
  'text/javascript',
  'text/plain',
  'text/xml',
]);

/** The words continue "characters of". */
export function mediaTypeIn(contentType: string | null | undefined): string {
  if (contentType == null) return 'no type';
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  return KNOWN.has(type) ? type : 'an unknown type';
}
