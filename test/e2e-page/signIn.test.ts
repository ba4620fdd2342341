// Signing in to the provider on the page, by each method; afterwards the page shows the meter, and keeps nothing that was typed.
import { expect, test } from 'vitest';
import { Browser as Person, REDIRECT } from '../simulator/browser.ts';
import { waitFor } from '../support/waitFor.ts';
import { judge, look, PHONE, PLAIN_NAME, picture, ready } from './browser.ts';
import { me, openPage } from './home.ts';

const ME = me();

/** A home whose only account has no password, so that it waits for a person. */
async function openGate(width = PHONE, name = '127.0.0.1') {
  const opened = await openPage(ME, ({ issuer, api }) => ({
    provider: { issuer, api_url: api, client_id: 'self-care', sign_in: 'device', redirect_uri: REDIRECT },
    accounts: [{ username: ME.username }],
    web: { hosts: [PLAIN_NAME] },
  }));
  opened.simulator.switches.token.devicePollSeconds = 1;
  const page = await look(opened.stack, opened.url.replace('127.0.0.1', name), {
    width,
    expected: name === PLAIN_NAME ? /origin/i : /422/,
  });
  await page.getByRole('heading', { name: 'Sign in to the provider: home' }).waitFor();
  const choose = (name: string) => page.getByRole('button', { name, exact: true }).click();
  const signedIn = async () => {
    await page.getByRole('heading', { name: /Sign in to/ }).waitFor({ state: 'detached' });
    await ready(page);
    expect(await page.locator('body').innerText()).toContain('Signed in');
    expect(await page.content()).not.toContain(ME.password);
  };
  return { ...opened, page, choose, signedIn };
}

test('tells and counts a wrong password, and keeps the form, when a person types one with a one-time code', async () => {
  const { page, choose, signedIn, simulator } = await openGate();
  simulator.switches.token.oneTimeCodes.set(ME.username, '204816');
  await choose('Password');
  await judge(page, 'sign-in-password');
  await page.getByLabel('User name').fill(ME.username);
  await page.getByLabel('Password').fill('wrong');
  await choose('Sign in');
  await page.getByText('1 attempt refused so far.').waitFor();
  await picture(page, 'sign-in-refused');
  const card = await page.locator('.signin').innerText();
  expect(card.match(/refused the user name/g)).toHaveLength(1);
  expect(card).not.toMatch(/own page|bridge\/request/);
  await page.getByLabel('Password').fill(ME.password);
  await page.getByLabel('One-time code').fill('204 816');
  await choose('Sign in');
  await signedIn();
});

test('shows a code, its QR code and what comes of it when a person signs in on another device', async () => {
  const { page, choose, signedIn, simulator } = await openGate();
  await choose('Other device');
  await choose('Get a code');
  const code = await page.locator('.code').innerText();
  await page.getByRole('img', { name: 'The address as a QR code' }).waitFor();
  await choose('Link');
  await choose('Get a link');
  await page.getByLabel('Address you ended on').waitFor();
  await choose('Other device');
  expect(await page.locator('.code').innerText()).toBe(code);
  await page.getByText(/^Waiting for you until \d\d:\d\d/).waitFor();
  await judge(page, 'sign-in-device');
  await choose('Cancel');
  await page.getByText('Ended.').waitFor();
  await choose('Get a code');
  const next = await waitFor('another code', async () => {
    const now = await page.locator('.code').innerText();
    return now === code ? null : now;
  });
  simulator.device.approve(next, ME.username);
  await signedIn();
});

test('shows a link and no QR code when the address of another device has thousands of characters', async () => {
  const { page, choose, signedIn, simulator } = await openGate();
  const long = `https://id.example.org/device?user_code=${'x'.repeat(5_000)}`;
  simulator.switches.fault('/auth/realms/energy/protocol/openid-connect/auth/device', {
    kind: 'change',
    change: (body) => ({ ...Object(body), verification_uri: long, verification_uri_complete: long }),
  });
  await choose('Other device');
  await choose('Get a code');
  const code = await page.locator('.code').innerText();
  const link = page.locator('.device a');
  expect(await link.getAttribute('href')).toBe(long);
  expect((await link.innerText()).length).toBeLessThan(500);
  expect(await page.locator('.qr').count()).toBe(0);
  await judge(page, 'sign-in-long-address');
  simulator.device.approve(code, ME.username);
  await signedIn();
});

test('signs in when the address at the end of a link is pasted', async () => {
  const { page, choose, signedIn } = await openGate();
  await choose('Link');
  await choose('Get a link');
  const address = await page.locator('.signin a').getAttribute('href');
  await page.getByLabel('Address you ended on').fill('https://portal.example.org/');
  await choose('Sign in');
  await page.getByText('This address has no code').waitFor();
  await judge(page, 'sign-in-link');
  const { location: ended } = await new Person().signIn(address ?? '', ME.username, ME.password);
  await page.getByLabel('Address you ended on').fill(ended?.href ?? '');
  await choose('Sign in');
  await signedIn();
});

test('puts the password last, with a warning, when the connection is not encrypted', async () => {
  const { page, choose } = await openGate(PHONE, PLAIN_NAME);
  const methods = await page.getByRole('group', { name: 'Method' }).getByRole('button').allInnerTexts();
  expect(methods).toEqual(['Other device', 'Link', 'Password']);
  await page.getByRole('button', { name: 'Get a code' }).waitFor();
  await choose('Password');
  await page.getByText('what you type can be read on the network').waitFor();
  await judge(page, 'sign-in-readable');
});
