import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { wireRequest } from '../../../../../worker/model/claude/wire-request.ts';
import type { ModelRequest } from '../../../../../worker/model/port.ts';
import { findViolation, type WireRequest } from '../../../../../worker/model/rules/validate.ts';
import { assistant, call, result, text, thinking, user } from '../../../../fixture/content-blocks.ts';
import { SEALED } from '../../../../fixture/requests.ts';
import { forAll } from '../../../../fixture/texts.ts';
import { type InputUsage, PrefixCache } from '../../../../stand-in/claude/cache.ts';
import { prefixTokens } from '../../../../stand-in/claude/counting.ts';
import type { Block, Message, MessagesRequest } from '../../../../stand-in/claude/request.ts';
import { segmentsOf } from '../../../../stand-in/claude/segments.ts';

const TOOL = { name: 'look', description: 'looks', inputSchema: { type: 'object' as const }, repeatable: true };

function request(messages: readonly Message[], more: Partial<ModelRequest> = {}): ModelRequest {
  const content = structuredClone(messages) as unknown as ModelRequest['messages'];
  return { model: 'm', maxTokens: 100, system: 'Be kind.', messages: content, tools: [TOOL], caches: true, ...more };
}

/** A provider's cache, and what a request reads from it, writes to it, and is billed in full. */
function provider(): (wire: WireRequest) => InputUsage & { total: number } {
  const cache = new PrefixCache();
  return (wire) => {
    const segments = segmentsOf(wire as unknown as MessagesRequest);
    const tokens = prefixTokens(segments, 1);
    return { ...cache.account(segments, tokens), total: tokens.at(-1) ?? 0 };
  };
}

const markers = (wire: WireRequest): unknown[] =>
  JSON.stringify(wire)
    .match(/"cache_control":\{[^}]*\}/g)
    ?.map((json) => JSON.parse(`{${json}}`).cache_control) ?? [];

/** A round of tools: thinking, words, so many calls, and as many results. */
function round(id: number, calls: number, thinks: boolean): Message[] {
  const ids = Array.from({ length: calls }, (_, at) => `t${id}_${at}`);
  const before: Block[] = thinks ? [{ ...thinking(`thought ${id}`), ...SEALED }] : [];
  return [
    assistant(...before, text(`I look ${id}.`), ...ids.map((each) => call(each))),
    user(...ids.map((each) => result(each, `found ${each}`))),
  ];
}

/** A turn without tools: an answer, and the next words of the user in so many parts. */
function exchange(id: number, parts: number, thinks: boolean): Message[] {
  const before: Block[] = thinks ? [{ ...thinking(`thought ${id}`), ...SEALED }] : [];
  const words = Array.from({ length: parts }, (_, at) => text(`question ${id} part ${at}`));
  return [assistant(...before, text(`answer ${id}`)), user(...words)];
}

const turns = fc.array(
  fc.record({ size: fc.integer({ min: 1, max: 60 }), tools: fc.boolean(), thinks: fc.boolean() }),
  { minLength: 1, maxLength: 12 },
);

test('a request reads all of the previous one from the cache, however much the turn added', () => {
  forAll([turns], (all) => {
    const send = provider();
    const messages: Message[] = [user('Hello')];
    let before = send(wireRequest(request(messages)));
    for (const [id, { size, tools, thinks }] of all.entries()) {
      messages.push(...(tools ? round(id, Math.ceil(size / 2), thinks) : exchange(id, size, thinks)));
      const wire = wireRequest(request(messages));
      expect(findViolation(wire, {})).toBeUndefined();
      const usage = send(wire);
      expect(usage.cache_read_input_tokens).toBe(before.total);
      expect(usage.input_tokens).toBe(0);
      before = usage;
    }
  });
});

test('a request reads the cached prefix although the one before it was never sent', () => {
  const send = provider();
  const messages = [user('Hello')];
  const first = send(wireRequest(request(messages)));
  messages.push(...round(1, 25, false));
  messages.push(...round(2, 25, false));
  expect(send(wireRequest(request(messages))).cache_read_input_tokens).toBe(first.total);
});

test('sets one marker after tools and system, three in messages, and no marker on thinking or blank text', () => {
  const messages = [user('Hello'), ...round(1, 3, true), ...round(2, 3, true), ...exchange(3, 2, true)];
  const wire = wireRequest(request(messages));
  expect(markers(wire)).toEqual(Array(4).fill({ type: 'ephemeral' }));
  expect(markers(wireRequest(request(messages, { system: ' ' })))).toHaveLength(4);
  expect(markers(wireRequest(request(messages, { system: '', tools: [] })))).toHaveLength(3);
  expect(markers(wireRequest(request(messages, { caches: false })))).toEqual([]);
  expect(wireRequest(request([user(text('a'), text(' '))], { tools: [] })).messages[0]?.content).toEqual([
    text('a', { cache_control: { type: 'ephemeral' } }),
    text(' '),
  ]);
});

test('sets a marker in a paused last answer, and the cached prefix before it is read', () => {
  const send = provider();
  const first = send(wireRequest(request([user('Hello')])));
  const paused = assistant(text('I search.'), { type: 'server_tool_use', id: 'srv1', name: 'web_search', input: {} });
  const wire = wireRequest(request([user('Hello'), paused]));
  expect(send(wire).cache_read_input_tokens).toBe(first.total);
  expect(markers(wire)).toHaveLength(3);
});
