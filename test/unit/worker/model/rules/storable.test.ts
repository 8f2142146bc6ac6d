import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Block } from '../../../../../worker/model/block.ts';
import { storable, storableBlocks, uniqueCallId } from '../../../../../worker/model/rules/blocks.ts';
import { findViolation } from '../../../../../worker/model/rules/validate.ts';
import { call, result, text, thinking } from '../../../../fixture/content-blocks.ts';
import { SEALED } from '../../../../fixture/requests.ts';
import { forCases, rawTexts } from '../../../../fixture/texts.ts';

const sealed = (words = 'hm') => thinking(words, SEALED);
const search = { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'q' } };
const found = { type: 'web_search_tool_result', tool_use_id: 's1', content: [] };
const cited = { type: 'char_location', cited_text: 'c', document_index: 0, document_title: null };
const place = { ...cited, start_char_index: 0, end_char_index: 1 };

const citing = (...citations: object[]) => text('a', { citations });

test('a valid answer is stored as it came, the same blocks', () => {
  const answer = [sealed(), search, found, citing(place), sealed(), call('t1'), { type: 'hologram' }];
  const stored = storable(answer);
  expect(stored).toHaveLength(answer.length);
  for (const [at, block] of answer.entries()) expect(stored[at]).toBe(block);
});

const one = text('a');
const cutOff = thinking('hm', { signature: 'cut' });
const calling = (input: unknown) => call('t1', { input });

test.each<[string, Block[], Block[]]>([
  ['a blank text is left out', [text(' \n'), one], [one]],
  ['half a pair is replaced', [text('a\ud83d')], [text('a\ufffd')]],
  ['half a pair in a key as well', [calling({ '\udc00': 'b' })], [calling({ '\ufffd': 'b' })]],
  ['thinking without a seal is left out', [thinking('hm'), cutOff, one], [one]],
  ['thinking with half a pair is left out', [sealed('\ud83d'), one], [one]],
  ['thinking that nothing follows goes', [sealed('a'), text('b'), sealed('c'), text('')], [sealed('a'), text('b')]],
  ['thinking with a gap goes, all of it', [sealed('a'), text(''), sealed('b'), one], [one]],
  ['a second call of one id goes', [call('t1'), call('t1', { name: 'other' }), one], [call('t1'), one]],
  ['a name becomes legal', [call('t1', { name: 'files.look' })], [call('t1', { name: 'files_look' })]],
  ['a list becomes an object', [calling([1])], [calling({ value: [1] })]],
  ['null becomes an object', [calling(null)], [calling({ value: null })]],
  ['unknown keys go', [text('a', { origin: 'x', citations: null })], [text('a', { citations: null })]],
  ['a citation loses the keys that the API refuses', [citing({ ...place, file_id: null })], [citing(place)]],
  ['a citation without a place goes', [citing(cited, place)], [citing(place)]],
])('%s', (_, answer, stored) => {
  expect(storable(answer)).toEqual(stored);
  expect(storable(stored)).toEqual(stored);
});

test('each block keeps its place', () => {
  expect(storableBlocks([text(''), text('a'), thinking('hm')])).toEqual([undefined, text('a'), undefined]);
});

test('a call keeps its id where the API takes it and no earlier call has it', () => {
  const used = new Set(['call_0', 'call_0_2']);
  expect(uniqueCallId('toolu_1', used)).toBe('toolu_1');
  expect(uniqueCallId('call_0', used)).toBe('call_0_3');
  expect(uniqueCallId('functions.look:0', used)).toBe('functions_look_0');
  expect(uniqueCallId('x'.repeat(80), used)).toBe('x'.repeat(56));
  expect(uniqueCallId(undefined, used)).toBe('unnamed');
});

const words = fc.oneof(rawTexts(6), fc.constantFrom('', ' ', 'half \ud83d', '\u0085'));
const blocks = fc.oneof(
  words.map((each) => text(each)),
  fc.tuple(words, fc.constantFrom({}, SEALED)).map(([each, seal]) => thinking(each, seal)),
  fc.tuple(fc.constantFrom('t1', 't2'), words, fc.jsonValue()).map(([id, name, input]) => call(id, { name, input })),
  fc.dictionary(words, words, { maxKeys: 2 }).map((more) => text('a', more)),
  fc.constant({ type: 'redacted_thinking', data: '' }),
);

test('for any blocks, what is stored makes a valid request, and a second time changes nothing', () => {
  forCases(500, [fc.array(blocks, { maxLength: 6 })], (answer) => {
    const stored = [...storable(answer)];
    expect(storable(stored)).toEqual(stored);
    const results = stored.flatMap(({ id, type }) => (type === 'tool_use' ? [result(String(id))] : []));
    const messages = [
      { role: 'user', content: 'a' },
      ...(stored.length > 0 ? [{ role: 'assistant', content: stored }] : []),
      ...(stored.length > 0 ? [{ role: 'user', content: [...results, text('b')] }] : []),
    ];
    expect(findViolation({ model: 'm', max_tokens: 1, messages }, {})).toBeUndefined();
  });
});
