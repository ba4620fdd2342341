// The one-time code of a second factor (RFC 6238). The only door to otpauth.

/** `secret` in base32, `period` in seconds; `now` in epoch milliseconds. */
export async function oneTimeCode(
  parameters: {
    readonly secret: string;
    readonly algorithm: string;
    readonly digits: number;
    readonly period: number;
  },
  now: number,
): Promise<string> {
  const { Secret, TOTP } = await import('otpauth');
  const secret = Secret.fromBase32(parameters.secret);
  return new TOTP({ ...parameters, secret }).generate({ timestamp: now });
}
