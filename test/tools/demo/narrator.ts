import { QueueEvents } from 'bullmq';
import { TURNS_QUEUE } from '../../../shared/redis/keys.ts';
import { msOf } from '../../../shared/redis/stream.ts';
import type { AuditEvent } from '../../../shared/state/lane/record-streams.ts';
import type { ClaudeCall } from '../../stand-in/claude/reaction.ts';
import { say } from '../tool.ts';
import type { Stage } from './stage.ts';

/** Tells each step as it happens, with the time since the user wrote. */
export interface Narrator {
  stop(): Promise<void>;
}

interface News {
  atMs: number;
  text: string;
}

const LOOK_EVERY_MS = 40;

/**
 * Watches from outside: the audit trail and the queue's events in Redis, and the ledgers of both stand-ins. Nothing is
 * told that did not happen, and each step is told with its own time.
 */
export function narrate(stage: Stage): Narrator {
  const startedMs = Date.now();
  const requeued: News[] = [];
  const queue = new QueueEvents(TURNS_QUEUE, { connection: stage.peek, prefix: stage.keys.queuePrefix });
  queue.on('waiting', ({ prev }, id) => {
    if (prev === 'active')
      requeued.push({ atMs: msOf(id), text: 'the job is back at the head of the queue (re-enqueued)' });
  });
  queue.on('error', () => {});
  const collect = collector(stage);
  const look = async () => {
    const news = [...(await collect()), ...requeued.splice(0)].sort((a, b) => a.atMs - b.atMs);
    for (const { atMs, text } of news) say(`${`+${((atMs - startedMs) / 1000).toFixed(3)} s`.padStart(10)}  ${text}`);
  };
  let looking = look();
  const timer = setInterval(() => {
    looking = looking.then(look);
  }, LOOK_EVERY_MS);
  say(`${'+0.000 s'.padStart(10)}  the user writes: "${stage.question}"`);
  return {
    async stop() {
      clearInterval(timer);
      await looking.then(look);
      await queue.close();
    },
  };
}

/** Returns what is new since it was called last. */
function collector({ claude, telegram, peek, keys, chat, operator }: Stage): () => Promise<News[]> {
  const told = new Set<string>();
  const once = (key: string, atMs: number, text: () => string): News[] => {
    if (told.has(key)) return [];
    told.add(key);
    return [{ atMs, text: text() }];
  };
  let lastEvent = '0';
  return async () => {
    const events = await peek.xrange(keys.events, `(${lastEvent}`, '+');
    lastEvent = events.at(-1)?.[0] ?? lastEvent;
    const steps = events.map(
      ([, fields]) => JSON.parse(fields[fields.indexOf('record') + 1] ?? '{}') as AuditEvent & { atMs: number },
    );
    const asked = claude.calls.flatMap((call) => once(`asked ${call.index}`, call.at, () => describeRequest(call)));
    const answered = claude.calls
      .filter((call) => call.status === 200 && call.endedAt !== undefined)
      .flatMap(({ index, endedAt = 0, kind }) =>
        once(
          `answered ${index}`,
          endedAt,
          () => `the model ${kind === 'compaction' ? 'wrote the summary' : 'answered'}`,
        ),
      );
    const shownIn = (id: number, who: string) =>
      telegram
        .shown(id)
        .flatMap(({ messageId, at, text }) => once(`${id} ${messageId}`, at, () => `${who}: "${text}"`));
    return [
      ...asked,
      ...answered,
      ...steps.map((event) => ({ atMs: event.atMs, text: describeEvent(event) })),
      ...shownIn(chat, 'the user sees'),
      ...shownIn(operator, 'the operator gets'),
    ];
  };
}

function describeRequest(call: ClaudeCall): string {
  const megabytes = (JSON.stringify(call.body).length / 1e6).toFixed(2);
  const purpose = call.kind === 'compaction' ? 'asks for a summary' : 'asks the model';
  return `the gateway ${purpose}: ${call.body.messages.length} messages, ${megabytes} MB, ${call.inputTokens} tokens as the model counts`;
}

function describeEvent(event: AuditEvent): string {
  switch (event.event) {
    case 'context.exceeded':
      return `OVERFLOW (${event.kind}) at stage "${event.stage}", ${event.phase === 'counted' ? 'by our own count' : 'refused by the model'}: ${event.observedTokens ?? '?'} tokens > ${event.limitTokens ?? '?'}`;
    case 'context.compacted':
      return `STAGE 1, compaction: about ${event.tokensBefore} -> ${event.tokensAfter} tokens in ${event.calls} call(s), stored with its stage`;
    case 'context.new-session':
      return `STAGE 2, fresh session: seed of ${event.seedChars} characters from ${event.entries} entries, built without a model in ${event.tookMs} ms from ${Math.round(event.bytesRead / 1024)} KB read; ${event.from} -> ${event.to}`;
    default:
      return event.event;
  }
}
