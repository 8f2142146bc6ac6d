import { expect, test } from '@jest/globals';
import { generateSignedCookie } from 'hono/cookie';
import { type Token, tokenOf } from '../../../worker/features/console/login.ts';
import { cleanUps } from '../../fixture/clean-ups.ts';
import { openConsole, TOKEN, type Visitor, visitorOf } from '../../fixture/console.ts';
import { eachInWorld, spawn, world } from '../../fixture/each-test.ts';
import { portOf } from '../../fixture/process.ts';

eachInWorld();

/** What a browser says of a form that another site, another port, an unknown place or the address bar sends. */
const ELSEWHERE: Record<string, string>[] = [
  ...['https://evil.example', 'null', 'http://127.0.0.1:1'].map((origin) => ({ origin })),
  ...['cross-site', 'same-site', 'none'].map((site) => ({ 'sec-fetch-site': site })),
];

async function visit(): Promise<Visitor> {
  const served = await openConsole(world);
  cleanUps.push(() => served.stop());
  return visitorOf(served.url);
}

test('without OPERATOR_TOKEN a gateway answers 404; with it the console asks for the token, on the same port', async () => {
  for (const [env, status] of [
    [{}, 404],
    [{ OPERATOR_TOKEN: TOKEN }, 401],
  ] as const) {
    const gateway = await spawn(env);
    const visitor = visitorOf(`http://127.0.0.1:${portOf(gateway)}`);
    const paths = ['/console', '/console/dead', '/console/cost', '/consoles'];
    const seen = await Promise.all(paths.map(async (path) => (await visitor.get(path)).status));
    expect([env, seen]).toEqual([env, [status, status, status, 404]]);
    await gateway.stop();
  }
});

test('wrong tokens and forms of elsewhere are refused; the right token sets a cookie that scripts and other sites cannot use', async () => {
  const visitor = await visit();
  for (let nth = 0; nth < 8; nth++)
    expect(await visitor.post('/console/login', { token: `${TOKEN}${nth}` })).toMatchObject({ status: 401 });
  for (const headers of ELSEWHERE) {
    const seen = await visitor.post('/console/login', { token: TOKEN }, headers);
    expect([headers, seen.status, seen.headers.get('set-cookie')]).toEqual([headers, 403, null]);
  }
  const login = await visitor.get('/console');
  expect(login.text).not.toContain('Lanes');
  const { status, headers } = await visitor.post('/console/login', { token: TOKEN });
  expect(status).toBe(303);
  expect(headers.get('set-cookie')).toMatch(/Path=\/console; HttpOnly; SameSite=Strict$/);
  await visitor.logIn();
  const page = await visitor.get('/console');
  expect(page).toMatchObject({ status: 200, text: expect.stringContaining('Lanes') });
  // Every answer forbids scripts, frames, caches and sniffing, errors included.
  for (const { headers } of [login, page, await visitor.get('/console/nowhere')]) {
    expect(headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
    expect(headers.get('content-security-policy')).not.toMatch(/script-src|unsafe/);
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cache-control': 'no-store',
    });
  }
});

test('behind a proxy with https cookies are Secure, and the host is the one that the proxy was asked for', async () => {
  const visitor = await visit();
  const forwarded = { 'x-forwarded-proto': 'HTTPS, http', 'x-forwarded-host': 'ops.example' };
  const proxied = { ...forwarded, origin: 'https://ops.example' };
  const { headers } = await visitor.post('/console/login', { token: TOKEN }, proxied);
  expect(headers.get('set-cookie')).toMatch(/; Secure/);
  await visitor.logIn();
  const fields = { form: await visitor.formKey('/console'), target: '1001' };
  const act = await visitor.post('/console/act/resume', fields, proxied);
  expect(act.headers.get('set-cookie')).toMatch(/spillway_done=.*; Secure/);
});

test('a form that a proxy sends in chunks is taken, and a large one is not', async () => {
  const { url } = await visit();
  const post = (text: string) =>
    fetch(`${url}/console/login`, {
      ...{ method: 'POST', redirect: 'manual', duplex: 'half', body: new Blob([text]).stream() },
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: url },
    } as RequestInit);
  expect((await post(`token=${TOKEN}`)).status).toBe(303);
  expect((await post(`token=${'x'.repeat(20_000)}`)).status).toBe(413);
});

test('a form without the key of the session is refused, and a forged or expired cookie opens nothing', async () => {
  const visitor = await visit();
  await visitor.logIn();
  const stranger = tokenOf('another-token-of-enough-characters');
  const badKeys = ['', 'x', stranger.formKey(/=(\d+)/.exec(visitor.cookie ?? '')?.[1] ?? '')];
  for (const form of badKeys) expect(await visitor.post('/console/logout', { form })).toMatchObject({ status: 403 });
  const form = await visitor.formKey('/console');
  expect(await visitor.post('/console/logout', { form })).toMatchObject({ status: 303 });
  const cookieOf = (value: string, { cookieKey }: Token) => generateSignedCookie('spillway_console', value, cookieKey);
  for (const cookie of [
    await cookieOf(`${Date.now() + 60_000}`, stranger),
    await cookieOf('0', tokenOf(TOKEN)),
    await cookieOf('x', tokenOf(TOKEN)),
    'spillway_console=1.x',
    `${visitor.cookie?.replace(/\d/, (digit) => `${(Number(digit) + 1) % 10}`)}`,
  ]) {
    visitor.cookie = cookie.split(';')[0];
    expect([cookie, (await visitor.get('/console')).status]).toEqual([cookie, 401]);
  }
});

test('a login leads back to the page that was asked for, with its query, and to none but one of the console', async () => {
  const visitor = await visit();
  const asked = '/console/dead?chat=1001&reason=a+b%26c';
  const { text } = await visitor.get(asked);
  expect(text).toContain(`name="to" value="${asked.replace('&', '&amp;')}"`);
  const elsewhere = ['https://evil.example', '//evil.example', '/console//evil.example', '/healthz'];
  for (const to of [asked, ...elsewhere, '/console/../x', '/consoles', '/console/a\nb']) {
    const { headers } = await visitor.post('/console/login', { token: TOKEN, to });
    expect([to, headers.get('location')]).toEqual([to, to === asked ? asked : '/console']);
  }
});
