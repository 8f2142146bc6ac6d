import { expect, test } from '@jest/globals';
import { createLogger, loggingAbout } from '../../../../shared/base/log.ts';
import { SPAN, traceIdsOnly } from '../../../../shared/base/telemetry.ts';

const telemetry = traceIdsOnly();

function logger() {
  const lines: string[] = [];
  const log = createLogger('info', { write: (line) => lines.push(line) });
  return {
    log,
    lines: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>),
    text: () => lines.join(''),
  };
}

/** As ioredis throws it: with the command, whose arguments hold what a user wrote. */
function replyError(): Error {
  const command = { name: 'xadd', args: ['{sw:0}:inbound', '*', 'message', 'my private words'] };
  return Object.assign(new Error('OOM command not allowed'), { name: 'ReplyError', command });
}

test('an error is logged without its own fields, whatever its name in the line', () => {
  const { log, lines, text } = logger();
  log.warn({ err: replyError() }, 'as err');
  log.warn({ reason: replyError() }, 'as reason');
  log.warn(replyError());
  expect(text()).not.toContain('private');
  expect(lines().map((line) => (line.err ?? line.reason) as object)).toEqual(
    lines().map(() => expect.objectContaining({ name: 'ReplyError', message: 'OOM command not allowed' })),
  );
});

test('each line within a turn names its trace, chat and entry, also after an await, and others do not', async () => {
  const { log, lines } = logger();
  const about = { traceId: 'abc', chat: '1001', entry: '1-0' };
  await loggingAbout(about, async () => {
    log.info('first');
    await new Promise((resolve) => setTimeout(resolve, 1));
    log.info({ entry: '2-0' }, 'of another message');
  });
  log.info('outside');
  const [first, other, outside] = lines();
  expect(first).toMatchObject(about);
  expect(other).toMatchObject({ ...about, entry: '2-0' });
  expect(outside).not.toHaveProperty('traceId');
});

test('a line within a span names its trace', async () => {
  const { log, lines } = logger();
  const traceId = await telemetry.span(SPAN.receive, {}, async (span) => {
    log.info('received');
    return span.spanContext().traceId;
  });
  expect(lines()[0]).toMatchObject({ traceId });
});
