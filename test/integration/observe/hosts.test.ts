import { request } from 'node:http';
import { expect, test } from '@jest/globals';
import { openConsole, TOKEN, visitorOf } from '../../fixture/console.ts';
import { eachInWorld, spawn, world } from '../../fixture/each-test.ts';
import { keptLog } from '../../fixture/log.ts';
import { portOf } from '../../fixture/process.ts';
import { until } from '../../fixture/root.ts';

eachInWorld();

const PATHS = ['/healthz', '/readyz', '/metrics', '/console', '/console/login', '/hook', '/elsewhere'];

/** What each path answers to a host that is ours; whether it is ready yet says nothing here. */
const ANSWERS = {
  '/healthz': 200,
  '/metrics': 200,
  '/console': 401,
  '/console/login': 401,
  '/hook': 405,
  '/elsewhere': 404,
};

test('a request that names a host of others is refused at every path, whatever it asks for, and one of ours is answered', async () => {
  const gateway = await spawn({
    OPERATOR_TOKEN: TOKEN,
    HTTP_ALLOWED_HOSTS: 'spillway',
    TELEGRAM_WEBHOOK_URL: 'https://bot.example.org/hook',
    TELEGRAM_WEBHOOK_SECRET: 'x'.repeat(32),
  });
  const port = portOf(gateway);
  for (const host of ['evil.example', 'evil.example:8080', 'localhost.evil.example']) {
    for (const path of PATHS)
      for (const method of ['GET', 'POST'])
        expect([host, path, method, await ask(port, path, host, method)]).toEqual([host, path, method, 421]);
  }
  const refusals = gateway.log.filter((line) => line.includes('HTTP_ALLOWED_HOSTS adds one'));
  expect(JSON.parse(refusals[0] ?? '')).toMatchObject({ level: 40, host: 'evil.example', count: 1 });
  for (const host of ['localhost', '127.0.0.1', '[::1]:8080', '10.0.0.7:8080', 'spillway:8080', 'bot.example.org']) {
    const answers = Object.fromEntries(
      await Promise.all(PATHS.map(async (path) => [path, await ask(port, path, host)])),
    );
    expect({ host, ...answers }).toMatchObject({ host, ...ANSWERS });
    expect(answers['/readyz']).not.toBe(421);
  }
});

/** The status of an answer to a request that names a host. */
function ask(port: number, path: string, host: string, method = 'GET'): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers: { host } }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    sent.once('error', reject).end();
  });
}

test('2,000 forms of strangers leave a few lines in the log, wrong tokens from everywhere too', async () => {
  const { log, lines } = keptLog();
  const served = await openConsole(world, { log });
  const visitor = visitorOf(served.url);
  const send = (at: number) =>
    visitor.post(`/console/${'a'.repeat(at)}`, { token: 'wrong' }, { origin: 'https://evil.example' });
  for (let round = 0; round < 20; round += 1) await Promise.all(Array.from({ length: 100 }, (_, at) => send(at)));
  await visitor.post('/console/login', { token: 'wrong' });
  await until('the lines', () => (lines.length >= 2 ? true : undefined));
  expect(lines.map(({ msg }) => msg)).toEqual([
    'the console refused a form that was not its own',
    'the console was asked with a wrong token',
  ]);
  await served.stop();
});
