/**
 * The stand-ins of Telegram and Claude in a process of their own, so that what the gateway uses of the processor is the
 * gateway's. The parent forks it and speaks over the channel of messages.
 */
import { startClaude } from '../../stand-in/claude/server.ts';
import { startOtlp } from '../../stand-in/otlp.ts';
import { startTelegram } from '../../stand-in/telegram/server.ts';
import type { Asked, Told } from './outside.ts';

const PING_MS = 200;
const modelMs = Number(process.argv[2] ?? 0);
const prefill = modelMs > 0 ? { prefill: { forMs: modelMs, everyMs: PING_MS } } : {};
const [telegram, claude, otlp] = await Promise.all([startTelegram(), startClaude(prefill), startOtlp()]);

let answered: number[] = [];
let awaited = Number.POSITIVE_INFINITY;
telegram.onAnswer(({ method, ok }) => {
  if (!ok || (method !== 'sendMessage' && method !== 'sendRichMessage')) return;
  answered.push(performance.now());
  if (answered.length === awaited) tell({ answeredAtMs: answered });
});

process.on('message', ({ messages, chats, firstChat }: Asked) => {
  answered = [];
  awaited = messages;
  for (let n = 0; n < messages; n++) telegram.say(firstChat + (n % chats), `message ${n}`);
});
process.once('disconnect', () => process.exit(0));

function tell(told: Told): void {
  process.send?.(told);
}

tell({ telegramUrl: telegram.url, token: telegram.token, claudeUrl: claude.url, otlpUrl: otlp.url });
