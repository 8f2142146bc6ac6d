import { createServer, type Server } from 'node:http';
import { createServer as createTcpServer, type Server as TcpServer } from 'node:net';
import { beforeEach, expect, test } from '@jest/globals';
import { SPAN } from '../../../shared/base/telemetry.ts';
import { cleanUps } from '../../fixture/clean-ups.ts';
import { runCli } from '../../fixture/cli.ts';
import { runFile } from '../../fixture/command.ts';
import { CHAT, eachInWorld, spawn, world } from '../../fixture/each-test.ts';
import { nextOutcome } from '../../fixture/ledger.ts';
import { until } from '../../fixture/root.ts';
import { variants } from '../../fixture/variants.ts';
import { ask } from '../../fixture/whole-chat.ts';
import { listen } from '../../stand-in/loopback.ts';
import { type OtlpStandIn, startOtlp } from '../../stand-in/otlp.ts';

const QUICK = {
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_EXPORTER_OTLP_TIMEOUT: '500',
  OTEL_BSP_SCHEDULE_DELAY: '50',
  OTEL_METRIC_EXPORT_INTERVAL: '600',
  OTEL_METRIC_EXPORT_TIMEOUT: '600',
};

let otlp: OtlpStandIn;

eachInWorld({ env: QUICK });
beforeEach(async () => {
  otlp = await startOtlp();
  cleanUps.push(() => otlp.close());
});

async function givenServer(server: Server | TcpServer): Promise<string> {
  cleanUps.push(async () => void server.close());
  return listen(server as Server);
}

const WRONG: [string, () => Promise<string>, RegExp][] = [
  ['a wrong path', async () => `${otlp.url}/elsewhere`, /404/],
  [
    'a refused key',
    () => givenServer(createServer((_, answer) => void answer.writeHead(401, { connection: 'close' }).end())),
    /401|Unauthorized/,
  ],
  [
    "gRPC's port",
    // The first frame of HTTP/2: settings.
    () => givenServer(createTcpServer((socket) => void socket.on('error', () => {}).end('\0\0\0\u0004\0\0\0\0\0'))),
    /Parse Error|reset|timed out|hang up/,
  ],
  ['a collector that is away', async () => 'http://127.0.0.1:9', /ECONNREFUSED/],
];

variants(WRONG)(
  'what cannot be exported for %s is named by check, once in the log, and in status',
  async (_, give, why) => {
    const address = await give();
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: address };
    const gateway = await spawn(env);
    world.telegram.say(CHAT, 'Hello');
    const named = (signal: string) =>
      gateway.log.filter((line) => line.includes(`${signal} cannot be exported to ${address}`));
    await until('both named in the log', () => (named('spans')[0] && named('metrics')[0]) || undefined);
    expect(named('spans')[0]).toMatch(why);
    await nextOutcome(world, CHAT);
    await ask('Again', 2);
    const status = await until('status', async () => {
      const { stdout } = await runCli(['status'], world.env);
      return stdout.includes(`metrics cannot be exported to ${address}`) ? stdout : undefined;
    });
    expect(status).toMatch(/^Telemetry +.*spans cannot be exported/m);
    for (const signal of ['spans', 'metrics']) {
      // On a busy machine an export may fail for another reason in between, such as its time limit.
      const reasons = named(signal).map((line) => /cannot be exported to \S+ \(.*?\)/.exec(line)?.[0]);
      expect(reasons.filter((reason, at) => reason === reasons[at - 1])).toEqual([]);
    }
    const checked = await runFile('worker/cli/main.ts', ['check'], { ...world.env, ...env });
    expect(checked.stdout).toMatch(new RegExp(`^FAILED telemetry: .*spans cannot be exported to ${address} `, 'm'));
    expect(checked.stdout).toMatch(/metrics cannot be exported/);
    expect(checked.code).toBe(1);
  },
);

test('an endpoint for spans alone is enough, and check says that it works', async () => {
  const env = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${otlp.url}/v1/traces` };
  const gateway = await spawn(env);
  const { traceId } = await ask('Hello');
  await otlp.waitForSpan((span) => span.name === SPAN.settle && span.traceId === traceId);
  expect(gateway.log.filter((line) => line.includes('cannot be exported'))).toEqual([]);
  const { stdout } = await runFile('worker/cli/main.ts', ['check'], { ...world.env, ...env });
  expect(stdout).toMatch(/^ok {4} telemetry: http:.*\/v1\/traces took/m);
  expect([otlp.metrics, otlp.refusals]).toEqual([[], []]);
});

test('an endpoint for metrics alone exports metrics, and messages keep their trace ids', async () => {
  await spawn({ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${otlp.url}/v1/metrics` });
  expect((await ask('Hello')).traceId).toMatch(/^[0-9a-f]{32}$/);
  await until('a metric', () => otlp.metrics.find(({ name }) => name === 'spillway.outcomes'));
  expect(otlp.spans).toEqual([]);
});
