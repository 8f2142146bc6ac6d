import { expect, test } from '@jest/globals';
import { readPhrase } from '../../../../worker/desk/phrase.ts';

const ENTRY = '1700000000000-0';
const TRACE = 'ab'.repeat(16);

test.each([
  ['pause it', 'pause', undefined],
  ['Pause!', 'pause', undefined],
  ['please pause this chat', 'pause', undefined],
  ['pause 1007', 'pause', '1007'],
  ['pause chat -100.7', 'pause', '-100.7'],
  ['pause everything', 'pause', 'all'],
  ['暫停', 'pause', undefined],
  ['請暫停它', 'pause', undefined],
  ['暂停 1007。', 'pause', '1007'],
  ['暫停全部', 'pause', 'all'],
  ['resume', 'resume', undefined],
  ['Resume it please', 'resume', undefined],
  ['繼續', 'resume', undefined],
  ['恢復 1007', 'resume', '1007'],
  ['retry', 'replay', undefined],
  ['try it again', 'replay', undefined],
  ['put them back', 'replay', undefined],
  ['重試', 'replay', undefined],
  ['who is 1007?', 'chat', '1007'],
  ['What’s 1007', 'chat', '1007'],
  ['1007', 'chat', '1007'],
  ['１００７', 'chat', '1007'],
  ['-1002000000001.7', 'chat', '-1002000000001.7'],
  ['1007 是誰？', 'chat', '1007'],
  ['who is it', 'chat', undefined],
  ['誰', 'chat', undefined],
  ['status', 'status', undefined],
  ['狀態', 'status', undefined],
  ['why?', 'why', undefined],
  ['what happened', 'why', undefined],
  ['what is it?', 'why', undefined],
  ['What’s wrong?!', 'why', undefined],
  ['怎麼了？', 'why', undefined],
  ['trace', 'message', undefined],
  ['追蹤', 'message', undefined],
  [ENTRY, 'message', ENTRY],
  [`what is ${ENTRY}?`, 'message', ENTRY],
  [`show message 1/${ENTRY}`, 'message', `1/${ENTRY}`],
  [`trace ${TRACE.toUpperCase()}`, 'message', TRACE],
])('“%s” asks for %s of %s', (words, verb, of) => {
  expect(readPhrase(words)).toEqual({ verb, ...(of !== undefined && { of }) });
});

test.each([
  ['', 'thanks', 'I will look at it in the morning', 'do not pause it', 'pause it and resume 1007'],
  ['pause 1007 1008', 'who is Ann?', '12345678901234567', '<b>pause</b>', 'status of 1007', 'x'.repeat(300)],
  ['暫停一下再說', 'delete 1007', '/pause', 'pause\u0000it now'],
])('what is not known for certain asks for nothing', (...all) => {
  expect(all.filter((words) => readPhrase(words) !== undefined)).toEqual([]);
});
