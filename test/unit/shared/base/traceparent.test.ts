import { expect, test } from '@jest/globals';
import { readTraceparent } from '../../../../shared/base/spans.ts';
import { traceIdOf } from '../../../../shared/base/telemetry.ts';

const FOREIGN = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

test.each([
  ['of the forbidden version', FOREIGN.replace(/^00/, 'ff')],
  ['with an id of zeros', FOREIGN.replace(/-[\da-f]{32}-/, `-${'0'.repeat(32)}-`)],
  ['with an id in capitals', FOREIGN.toUpperCase()],
  ['that is cut off', FOREIGN.slice(0, -3)],
  ['that is no traceparent', 'x'],
])('a parent %s is ignored', async (_, parent) => {
  expect(readTraceparent(parent)).toBeUndefined();
});

test('a parent of a later version, which may have more fields, is understood', () => {
  const later = `${FOREIGN.replace(/^00/, '01')}-more`;
  expect(readTraceparent(later)).toMatchObject({ traceId: traceIdOf(FOREIGN), traceFlags: 1, isRemote: true });
});
