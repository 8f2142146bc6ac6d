import { expect, test } from '@jest/globals';
import type { InboundMessage } from '../../../../../shared/flow/message.ts';
import { expectedAfter, isExpected } from '../../../../../shared/state/message/inbox.ts';
import { inboundText } from '../../../../fixture/inbound.ts';

const said = (over: Partial<InboundMessage>): InboundMessage => ({ ...inboundText(1), chatId: -1, ...over });
const text = (length: number) => ({ kind: 'text', text: 'x'.repeat(length) }) as const;

test('the pieces of an album belong to the one that was addressed', () => {
  const expected = expectedAfter(said({ album: 'a', messageId: 5 }));
  expect(isExpected(said({ album: 'a', messageId: 6 }), expected)).toBe(true);
  expect(isExpected(said({ album: 'b', messageId: 6 }), expected)).toBe(false);
  expect(isExpected(said({ album: 'a', messageId: 6 }), {})).toBe(false);
});

test('the message right after a text that an app cut belongs to it, and no other', () => {
  const expected = expectedAfter(said({ messageId: 5, content: text(4_096) }));
  expect(isExpected(said({ messageId: 6 }), expected)).toBe(true);
  for (const messageId of [5, 7]) expect(isExpected(said({ messageId }), expected)).toBe(false);
  expect(isExpected(said({ messageId: 51 }), expectedAfter(said({ messageId: 50, content: text(100) })))).toBe(false);
});

test('what is forwarded within two seconds of an addressed message belongs to it', () => {
  const expected = expectedAfter(said({ sentAtMs: 10_000 }));
  const forward = (sentAtMs: number) => isExpected(said({ forwardedFrom: 'Ann', sentAtMs }), expected);
  expect([10_000, 11_000, 12_000].every(forward)).toBe(true);
  expect([9_000, 13_000].some(forward)).toBe(false);
  expect(isExpected(said({ sentAtMs: 10_000 }), expected)).toBe(false);
});
