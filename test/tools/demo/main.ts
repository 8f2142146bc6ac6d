import { connectRedis, untilReady } from '../../../shared/redis/connection.ts';
import { chatKey, keysOf } from '../../../shared/redis/keys.ts';
import { importSession, parseLines } from '../../../worker/session/transfer.ts';
import { temporaryBlobs } from '../../fixture/blobs.ts';
import { pointedAt } from '../../fixture/environment.ts';
import { spawnRunning } from '../../fixture/process.ts';
import { freshRedis } from '../../fixture/redis.ts';
import { startClaude } from '../../stand-in/claude/server.ts';
import { startOtlp } from '../../stand-in/otlp.ts';
import { startTelegram } from '../../stand-in/telegram/server.ts';
import { findRedis, runTool, say } from '../tool.ts';
import { INCIDENT_RECORDS, incidentLines } from './incident.ts';
import { narrate } from './narrator.ts';
import { report } from './report.ts';
import type { Stage } from './stage.ts';

const WINDOW_TOKENS = 180_000;
/** What it really answers: less than the compacted request has. */
const TAKEN_TOKENS = 20_000;
const CHAT = 1001;
const OPERATOR = 9001;
const QUESTION = 'Are you still there? What was the state of the search index?';
const ANSWER_MS_MAX = 60_000;

const HELP = `Usage: npm run demo

Plays the incident, at full size, on real parts: a chat with a session of 35 MB outgrows the model. Telegram and Claude are
strict stand-ins on loopback; no key is needed.`;

await runTool(HELP, {}, demo);

async function demo(): Promise<void> {
  say(
    'Spillway demo: the incident, at full size, on real parts. Telegram and Claude are strict stand-ins; no key is needed.',
  );
  await findRedis();
  const redis = await freshRedis({ fsync: 'everysec' });
  const [claude, telegram, otlp, blobs] = await Promise.all([
    startClaude({ windowTokens: WINDOW_TOKENS }),
    startTelegram(),
    startOtlp(),
    temporaryBlobs(),
  ]);
  const peek = connectRedis(redis.socketUrl, 'patient');
  await untilReady(peek, 10_000);
  telegram.openChat(CHAT);
  telegram.openChat(OPERATOR);
  const parts = { claude, telegram, otlp, peek };
  const stage: Stage = { ...parts, keys: keysOf(0), chat: CHAT, operator: OPERATOR, question: QUESTION };
  const gateway = await spawnRunning('spillway.ts', {
    ...pointedAt(telegram, claude),
    TELEGRAM_ALLOWED_IDS: String(CHAT),
    TELEGRAM_ALERT_CHAT_ID: String(OPERATOR),
    REDIS_URL: redis.socketUrl,
    OTEL_EXPORTER_OTLP_ENDPOINT: otlp.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '100',
    ...blobs.env,
  });
  try {
    await writeIncident(stage);
    if (!(await replay(stage))) process.exitCode = 1;
  } finally {
    await gateway.stop();
    peek.disconnect();
    await Promise.all([claude.close(), telegram.close(), otlp.close(), redis.stop(), blobs.remove()]);
  }
}

async function writeIncident({ peek, keys, chat }: Stage): Promise<void> {
  const isTerminal = process.stdout.isTTY === true;
  const startedMs = performance.now();
  const records = await parseLines(incidentLines());
  let bytesWritten = 0;
  let shown = 0;
  await importSession(peek, keys, chatKey(chat), records, (done, bytes) => {
    bytesWritten = bytes;
    const tenth = Math.floor((done / INCIDENT_RECORDS) * 10);
    if (!isTerminal && tenth === shown) return;
    shown = tenth;
    const text = `Writing the session: ${done} of ${INCIDENT_RECORDS} records, ${(bytes / 1e6).toFixed(1)} MB`;
    process.stdout.write(isTerminal ? `\r${text}` : `${text}\n`);
  });
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  say(
    `${isTerminal ? '\n' : ''}Chat ${chat} has a session of ${records.length} records, ${(bytesWritten / 1e6).toFixed(1)} MB (${seconds} s).`,
  );
  say(
    `The model states a window of ${WINDOW_TOKENS} tokens, and answers only what has ${TAKEN_TOKENS}: it refuses even the compacted request.\n`,
  );
}

/** The user writes; everything else is the gateway's doing. */
async function replay(stage: Stage): Promise<boolean> {
  const { claude, telegram } = stage;
  claude.react(({ kind, inputTokens }) =>
    kind === 'main' && inputTokens > TAKEN_TOKENS
      ? { do: 'overflow', observedTokens: inputTokens, limitTokens: TAKEN_TOKENS }
      : undefined,
  );
  const narrator = narrate(stage);
  telegram.say(stage.chat, QUESTION);
  const answered = await telegram.waitForText(stage.chat, /You said/, ANSWER_MS_MAX).then(
    () => true,
    () => false,
  );
  if (answered) await telegram.waitForText(stage.operator, /outgrew the model/, ANSWER_MS_MAX);
  await narrator.stop();
  return report(stage, answered);
}
