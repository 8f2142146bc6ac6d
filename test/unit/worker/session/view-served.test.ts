import { expect, test } from '@jest/globals';
import type { LogRecord } from '../../../../worker/session/record.ts';
import { view } from '../../../../worker/session/view.ts';
import { assistantSays, userSays } from '../../../fixture/records.ts';
import { GROUNDS } from '../../../fixture/requests.ts';
import { firstViolation } from '../../../stand-in/claude/rules.ts';
import { assistant, call, result, text, user } from '../../../stand-in/claude/specimens.ts';

const PENDING_TEXT = 'And then?';
const PENDING = userSays(PENDING_TEXT, { id: 'pending', entry: '9-0' });
const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} };
const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] };

function of(...records: LogRecord[]) {
  return { head: undefined, records, omitted: 0 };
}

/** The messages of a request, of which the API refuses none. */
function sent(window: ReturnType<typeof of>): unknown[] {
  const messages = view(window);
  expect(firstViolation({ model: 'claude-opus-5-5', max_tokens: 100, messages }, GROUNDS)).toBeUndefined();
  return messages;
}

test('a search that was cut off is left out as soon as something follows it, whoever wrote the log', () => {
  const cut = [userSays('Look'), assistantSays([text('I look.'), search])];
  expect(sent(of(...cut)).at(-1)).toEqual(assistant('I look.', search));
  const after = [user('Look'), assistant('I look.'), user('And now?')];
  expect(sent(of(...cut, userSays('And now?')))).toEqual(after);
  expect(sent(of(...cut, userSays('And now?'), assistantSays('Now.'), PENDING)).slice(0, 3)).toEqual(after);
  expect(sent(of(...cut, assistantSays([found, text('Found.')]), PENDING))[1]).toEqual(
    assistant('I look.', search, found, 'Found.'),
  );
});

test('a result of a server’s tool may come one answer later, behind results of ours, and nothing is changed', () => {
  const begun = [userSays('Look'), assistantSays([search, call('toolu_1')]), userSays([result('toolu_1')])];
  const messages = [user('Look'), assistant(search, call('toolu_1')), user(result('toolu_1'))];
  expect(sent(of(...begun))).toEqual(messages);
  const ended = [...begun, assistantSays([found, text('Found.')])];
  expect(sent(of(...ended, PENDING))).toEqual([...messages, assistant(found, 'Found.'), user(PENDING_TEXT)]);
});
