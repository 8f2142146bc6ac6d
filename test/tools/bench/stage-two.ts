import { SPAN, type Telemetry } from '../../../shared/base/telemetry.ts';
import { chatKey } from '../../../shared/redis/keys.ts';
import type { Failure } from '../../../worker/model/errors/failure.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { incidentLines } from '../demo/incident.ts';
import { messageOf, percentile, silentTelemetry, startBench, until } from './bench.ts';
import type { Measure } from './figure.ts';
import { instantModel, instantTelegram } from './instant.ts';

const WINDOW_TOKENS = 200_000;
const TURNS = 5;
const CHAT = 1_000;
const BYTES_PER_MB = 1e6;
/** Longer than a fresh session, and shorter than any other. */
const TAKEN_CHARS = 60_000;

/** Stage 2 on the incident's session: reading, building the seed and storing it with the fresh session. */
export const stageTwo: Measure = {
  name: 'stage-2',
  figures: {
    medianMs: { name: 'stage 2 on the 35 MB session, median of 5', unit: 'ms', aim: { atMost: 20 } },
    megabytesRead: { name: 'the same, read from Redis', unit: 'MB', aim: { atMost: 1 } },
  },
  async take({ redisUrl }) {
    const took: number[] = [];
    let sent = 0;
    const telegram = instantTelegram((_chat, text) => {
      if (text.includes('instant')) sent += 1;
    });
    const telemetry = timing(silentTelemetry(), SPAN.overflowRecovery, took);
    const bench = await startBench(redisUrl, { model: overflowing(), telegram, telemetry });
    const records = await parseLines(incidentLines());
    for (let turn = 0; turn < TURNS; turn++) {
      await importSession(bench.redis, bench.keys, chatKey(CHAT), records);
      await bench.inbox.accept(1, messageOf(turn + 1, CHAT, 'go on'), '');
      await until(() => sent === turn + 1);
    }
    const events = await bench.redis.xrange(bench.keys.events, '-', '+');
    const stored = events.map(([, fields]) => JSON.parse(fields[3] ?? '{}') as { bytesRead?: number });
    const bytesRead = Math.max(...stored.map((event) => event.bytesRead ?? 0));
    await bench.stop();
    return { medianMs: percentile(took, 0.5), megabytesRead: bytesRead / BYTES_PER_MB };
  },
};

/** A model that refuses every long conversation, and never summarises: only a fresh session helps. */
function overflowing() {
  const tooLong: Failure = { kind: 'token', reason: 'prompt_too_long', status: 400 };
  return instantModel(WINDOW_TOKENS, ({ system, messages }) => {
    if (system !== 'bench') return { ok: false, failure: { kind: 'transient', reason: 'overloaded' } };
    return JSON.stringify(messages).length > TAKEN_CHARS ? { ok: false, failure: tooLong } : undefined;
  });
}

/** Telemetry that also notes how long one kind of span takes. */
function timing(telemetry: Telemetry, name: string, took: number[]): Telemetry {
  return {
    ...telemetry,
    async span(spanName, attributes, work, options) {
      const startedMs = performance.now();
      const result = await telemetry.span(spanName, attributes, work, options);
      if (spanName === name) took.push(performance.now() - startedMs);
      return result;
    },
  };
}
