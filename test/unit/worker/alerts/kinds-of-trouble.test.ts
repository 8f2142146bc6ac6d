import { expect, test } from '@jest/globals';
import { condition, opened } from '../../../fixture/incidents.ts';

test('trouble of another kind is new and names its own cure; of the same kind, it is back', () => {
  const incidents = opened();
  const network = condition({ cause: 'provider', level: 'network', text: 'The model endpoint cannot be reached.' });
  const refused = condition({ cause: 'provider', level: 'auth', text: 'The model endpoint does not accept our key.' });
  incidents.at(0, { conditions: [network] });
  incidents.at(20_000, { conditions: [] });
  const [notice] = incidents.at(40_000, { conditions: [refused] });
  expect(notice?.kind).toBe('opened');
  expect(notice?.text).toMatch(/^🔴 Page: Every message fails: the API key is refused\nSince /);
  expect(notice?.text).toMatch(/\n\nCorrect ANTHROPIC_API_KEY and restart; then press “Replay failed”/);
  expect(notice?.text).not.toMatch(/back/);
  incidents.at(60_000, { conditions: [] });
  expect(incidents.at(80_000, { conditions: [refused] })).toMatchObject([
    { kind: 'reopened', text: expect.stringContaining('It is back: 1 time') },
  ]);
});
